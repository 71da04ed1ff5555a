"""A small MediaWiki-shaped api.php over a wiki in memory: for the demo, and for whoever wants to try things offline.

Owns the shapes of the answers, which are those of MediaWiki 1.39 for what graphmill asks. Refuses everything else.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

from aiohttp import web

from pipelines.wikipedia.local_wiki import NAMESPACES, LocalPage, LocalWiki
from pipelines.wikipedia.model import ARTICLES, CATEGORIES, TITLES_AT_ONCE

__all__ = ["LocalPage", "LocalWiki", "serve"]

Parameters = Mapping[str, str]
Interfere = Callable[[web.Request, Parameters], Awaitable[web.StreamResponse | None]]
_MOST = 500
_INVALID = 'The requested page title contains invalid characters: "[".'


class _ApiError(Exception):
    def __init__(self, code: str, info: str) -> None:
        super().__init__(info)
        self.code = code


@asynccontextmanager
async def serve(wiki: LocalWiki, port: int = 0, *, interfere: Interfere | None = None) -> AsyncIterator[str]:
    """Serves the wiki on this machine and gives the address of its api.php. `interfere` may answer in its place."""

    async def answer(request: web.Request) -> web.StreamResponse:
        parameters: dict[str, str] = {str(key): str(value) for key, value in request.query.items()}
        if request.method == "POST":
            parameters |= {str(key): str(value) for key, value in (await request.post()).items()}
        wiki.requests += 1
        wiki.continued += "continue" in parameters
        if interfere is not None and (other := await interfere(request, parameters)) is not None:
            return other
        return _json(_answer(wiki, parameters, f"{request.scheme}://{request.host}"))

    application = web.Application()
    application.router.add_route("GET", "/w/api.php", answer)
    application.router.add_route("POST", "/w/api.php", answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/w/api.php"
    finally:
        await runner.cleanup()


def _json(answer: Any) -> web.Response:
    return web.Response(body=json.dumps(answer, ensure_ascii=False).encode(), content_type="application/json")


def _answer(wiki: LocalWiki, asked: Parameters, server: str) -> Any:
    try:
        match asked.get("action"):
            case "query":
                return _query(wiki, asked, server)
            case "opensearch":
                titles = _starting_with(wiki, asked.get("search", ""))[: _limit(asked.get("limit"), 10)]
                urls = [f"{server}/wiki/{quote(title.replace(' ', '_'))}" for title in titles]
                return [asked.get("search", ""), titles, [""] * len(titles), urls]
            case other:
                raise _ApiError("badvalue", f'Unrecognized value for parameter "action": {other}.')
    except _ApiError as error:
        return {"error": {"code": error.code, "info": str(error), "docref": f"See {server}/w/api.php for API usage."}}


def _query(wiki: LocalWiki, asked: Parameters, server: str) -> dict[str, Any]:
    query: dict[str, Any] = {}
    further: dict[str, Any] = {}
    if "titles" in asked:
        _Titles(wiki, asked, query, further).answer()
    whole = not further
    if asked.get("meta") == "siteinfo":
        query |= _siteinfo(wiki, asked.get("siprop", "general").split("|"), server)
    match asked.get("list"):
        case None:
            pass
        case "allpages":
            _all_pages(wiki, asked, query, further)
        case "categorymembers":
            _category_members(wiki, asked, query, further)
        case "prefixsearch":
            titles = _starting_with(wiki, asked.get("pssearch", ""))
            query["prefixsearch"] = _listed(wiki, titles[: _limit(asked.get("pslimit"), 10)])
        case "search":
            query["search"] = _listed(wiki, _searched(wiki, asked)[: _limit(asked.get("srlimit"), 10)])
        case other:
            raise _ApiError("badvalue", f'Unrecognized value for parameter "list": {other}.')
    answer: dict[str, Any] = {"batchcomplete": True} if whole else {}
    return answer | ({"continue": further} if further else {}) | ({"query": query} if query else {})


class _Titles:
    """What there is under some titles, as far as it fits into one answer."""

    def __init__(self, wiki: LocalWiki, asked: Parameters, query: dict[str, Any], further: dict[str, Any]) -> None:
        self._wiki = wiki
        self._asked = asked
        self._query = query
        self._further = further
        self._props = asked.get("prop", "").split("|")
        self._done = set(asked.get("continue", "").partition("||")[2].split("|"))
        self._pages: dict[str, dict[str, Any]] = {}
        self._known: dict[int, LocalPage] = {}

    def answer(self) -> None:
        titles = self._asked["titles"].split("|")
        if len(titles) > TITLES_AT_ONCE:
            raise _ApiError("toomanyvalues", 'Too many values supplied for parameter "titles". The limit is 50.')
        for written in dict.fromkeys(titles):
            self._place(written)
        self._info()
        if "revisions" in self._props and "revisions" not in self._done:
            self._revisions()
        if "categories" in self._props and "categories" not in self._done:
            self._categories()
        if "redirects" in self._props and "redirects" not in self._done:
            self._redirects()
        if self._further:
            finished = [prop for prop in self._props if not self._goes_on(prop)]
            self._further["continue"] = "||" + "|".join(finished)
        if self._pages:
            self._query["pages"] = sorted(self._pages.values(), key=lambda page: page.get("pageid", 0))

    def _goes_on(self, prop: str) -> bool:
        names = {"revisions": "rvcontinue", "categories": "clcontinue", "redirects": "rdcontinue"}
        return names.get(prop) in self._further

    def _place(self, written: str) -> None:
        title = self._wiki.title(written)
        if title is None:
            self._pages[written] = {"title": written, "invalidreason": _INVALID, "invalid": True}
            return
        full = self._wiki.full(title)
        if full != written:
            self._note("normalized", {"fromencoded": False, "from": written, "to": full})
        if title.interwiki is not None:
            self._note("interwiki", {"title": full, "iw": title.interwiki})
        elif title.namespace < 0:
            self._pages[full] = {"ns": title.namespace, "title": full, "special": True}
        else:
            self._page(full, title.namespace)

    def _page(self, full: str, namespace: int) -> None:
        page = self._wiki.page(full)
        if page is None:
            self._pages[full] = {"ns": namespace, "title": full, "missing": True}
        elif page.redirect is not None and "redirects" in self._asked:
            self._follow(page, *page.redirect)
        else:
            self._pages[full] = {"pageid": page.page_id, "ns": page.namespace, "title": full}
            self._known[page.page_id] = page

    def _follow(self, page: LocalPage, target: str, fragment: str | None) -> None:
        title = self._wiki.title(target)
        full = self._wiki.full(title) if title else target
        entry = {"from": page.title, "to": full} | ({"tofragment": fragment} if fragment else {})
        if title is not None and title.interwiki is not None:
            entry["tointerwiki"] = title.interwiki
        if self._note("redirects", entry):
            self._place(full)

    def _note(self, key: str, entry: dict[str, Any]) -> bool:
        """False where it is known, as in a loop."""
        entries = self._query.setdefault(key, [])
        if entry in entries:
            return False
        entries.append(entry)
        return True

    def _info(self) -> None:
        if "info" not in self._props or "info" in self._done:
            return
        for number, page in self._known.items():
            shown = self._pages[page.title]
            shown |= {"contentmodel": "wikitext", "lastrevid": page.revision_id, "length": len(page.text.encode())}
            shown |= {"redirect": True} if self._known[number].redirect else {}

    def _revisions(self) -> None:
        asked = self._asked.get("rvprop", "ids|timestamp").split("|")
        start = int(self._asked.get("rvcontinue", "0").partition("|")[0])
        room = self._wiki.answer_bytes
        first = True
        for number in sorted(number for number in self._known if number >= start):
            page = self._known[number]
            shown = self._pages[page.title]
            room -= len(page.text.encode()) if "content" in asked else 0
            if room < 0 and not first:
                shown["revisions"] = []
                self._further["rvcontinue"] = f"{number}|{page.revision_id}"
                return
            first = False
            shown["revisions"] = [self._revision(page, content="content" in asked)]

    def _revision(self, page: LocalPage, *, content: bool) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "revid": page.revision_id,
            "parentid": 0,
            "timestamp": page.timestamp.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        if content:
            self._wiki.texts[page.title] += 1
            main = {"contentmodel": "wikitext", "contentformat": "text/x-wiki", "content": page.text}
            shown["slots"] = {"main": main}
        return shown

    def _categories(self) -> None:
        first_page, _, first_name = self._asked.get("clcontinue", "0|").partition("|")
        room = _limit(self._asked.get("cllimit"), 10)
        space = self._wiki.namespaces[CATEGORIES]
        hidden_too = self._asked.get("clshow") != "!hidden"
        for number in sorted(number for number in self._known if number >= int(first_page)):
            for name in sorted(self._known[number].categories):
                if number == int(first_page) and name.replace(" ", "_") < first_name:
                    continue
                if not hidden_too and self._wiki.is_hidden(name):
                    continue
                if room == 0:
                    self._further["clcontinue"] = f"{number}|{name.replace(' ', '_')}"
                    return
                room -= 1
                listed = self._pages[self._known[number].title].setdefault("categories", [])
                listed.append({"ns": CATEGORIES, "title": f"{space}:{name}"})

    def _redirects(self) -> None:
        first_page, _, first_title = self._asked.get("rdcontinue", "0|").partition("|")
        room = _limit(self._asked.get("rdlimit"), 10)
        for number in sorted(number for number in self._known if number >= int(first_page)):
            shown = self._known[number].title
            for title in self._wiki.redirects_to(shown):
                if number == int(first_page) and title < first_title:
                    continue
                if room == 0:
                    self._further["rdcontinue"] = f"{number}|{title}"
                    return
                room -= 1
                self._pages[shown].setdefault("redirects", []).append({"title": title})


def _siteinfo(wiki: LocalWiki, asked: Iterable[str], server: str) -> dict[str, Any]:
    case = "first-letter" if wiki.site.first_letter else "case-sensitive"
    known: dict[str, Any] = {
        "general": {
            "sitename": wiki.site.wiki,
            "generator": "graphmill",
            "case": case,
            "lang": wiki.site.lang,
            "articlepath": "/wiki/$1",
            "server": server,
            "wikiid": wiki.site.wiki,
        },
        "namespaces": {
            str(number): {"id": number, "case": case, "name": name, "canonical": NAMESPACES.get(number, name)}
            for number, name in sorted(wiki.namespaces.items())
        },
        "namespacealiases": [],
        "interwikimap": [
            {"prefix": prefix, "url": f"https://{prefix}.example.org/wiki/$1"} for prefix in sorted(wiki.site.interwiki)
        ],
        "magicwords": [{"name": "redirect", "aliases": ["#REDIRECT"], "case-sensitive": False}],
    }
    return {prop: known[prop] for prop in asked if prop in known}


def _all_pages(wiki: LocalWiki, asked: Parameters, query: dict[str, Any], further: dict[str, Any]) -> None:
    limit = _limit(asked.get("aplimit"), 10)
    start = asked.get("apcontinue", asked.get("apfrom", "")).replace("_", " ")
    filtered = {"redirects": True, "nonredirects": False}.get(asked.get("apfilterredir", "all"))
    titles: list[str] = []
    for title in wiki.titles(int(asked.get("apnamespace", ARTICLES)), start=start):
        page = wiki.page(title)
        if filtered is not None and (page is None or (page.redirect is not None) != filtered):
            continue
        if len(titles) == limit:
            further |= {"apcontinue": title.replace(" ", "_"), "continue": "-||"}
            break
        titles.append(title)
    query["allpages"] = _listed(wiki, titles)


def _category_members(wiki: LocalWiki, asked: Parameters, query: dict[str, Any], further: dict[str, Any]) -> None:
    title = wiki.title(asked.get("cmtitle", ""))
    if title is None:
        raise _ApiError("invalidtitle", f'Bad title "{asked.get("cmtitle", "")}".')
    if title.namespace != CATEGORIES:
        raise _ApiError("invalidcategory", "The category name you entered is not valid.")
    types = asked.get("cmtype", "page|subcat|file").split("|")
    limit = _limit(asked.get("cmlimit"), 10)
    wanted = [each for each in wiki.members(title.title) if _type(wiki, each) in types]
    start = int(asked.get("cmcontinue", "0"))
    query["categorymembers"] = _listed(wiki, wanted[start : start + limit])
    if start + limit < len(wanted):
        further |= {"cmcontinue": str(start + limit), "continue": "-||"}


def _type(wiki: LocalWiki, title: str) -> str:
    page = wiki.page(title)
    return {CATEGORIES: "subcat", 6: "file"}.get(page.namespace if page else ARTICLES, "page")


def _listed(wiki: LocalWiki, titles: Iterable[str]) -> list[dict[str, Any]]:
    pages = (page for page in map(wiki.page, titles) if page is not None)
    return [{"pageid": page.page_id, "ns": page.namespace, "title": page.title} for page in pages]


def _starting_with(wiki: LocalWiki, text: str) -> list[str]:
    start = text.lower()
    return [title for title in wiki.titles() if title.lower().startswith(start)] if start else []


def _searched(wiki: LocalWiki, asked: Parameters) -> list[str]:
    words = asked.get("srsearch", "").lower().split()
    pages = (page for page in map(wiki.page, wiki.titles()) if page is not None)
    return [
        page.title for page in pages if words and all(word in f"{page.title} {page.text}".lower() for word in words)
    ]


def _limit(asked: str | None, usual: int) -> int:
    return usual if asked is None else _MOST if asked == "max" else max(1, min(int(asked), _MOST))
