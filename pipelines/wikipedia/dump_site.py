"""What a dump says of its wiki, at its beginning, and what is known of every wiki where it says nothing.

A dump names neither other wikis nor its words for a redirect: those are the usual ones.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from graph_stores.errors import Misuse
from pipelines.wikipedia.dump_errors import not_a_dump
from pipelines.wikipedia.dump_xml import parse_xml
from pipelines.wikipedia.model import Site
from pipelines.wikipedia.titles import USUAL_INTERWIKI

_NAMESPACES = {
    "media": -2,
    "special": -1,
    "talk": 1,
    "user": 2,
    "user talk": 3,
    "project": 4,
    "project talk": 5,
    "file": 6,
    "file talk": 7,
    "image": 6,
    "image talk": 7,
    "mediawiki": 8,
    "mediawiki talk": 9,
    "template": 10,
    "template talk": 11,
    "help": 12,
    "help talk": 13,
    "category": 14,
    "category talk": 15,
}
# A wiki of another kind may have articles that begin so.
_OF_WIKIPEDIAS = {
    "wp": 4,
    "wt": 5,
    "wikipedia": 4,
    "wikipedia talk": 5,
    "portal": 100,
    "portal talk": 101,
    "draft": 118,
    "draft talk": 119,
    "timedtext": 710,
    "timedtext talk": 711,
    "module": 828,
    "module talk": 829,
}
_REDIRECT_WORDS = {
    "ar": ("#تحويل",),
    "bg": ("#пренасочване", "#виж"),
    "ca": ("#redirecció", "#redirect"),
    "cs": ("#přesměruj",),
    "da": ("#omdirigering",),
    "de": ("#weiterleitung",),
    "el": ("#ανακατευθυνση",),
    "es": ("#redirección", "#redireccion"),
    "et": ("#suuna",),
    "fa": ("#تغییر_مسیر", "#تغییرمسیر"),
    "fi": ("#ohjaus", "#uudelleenohjaus"),
    "fr": ("#redirection",),
    "he": ("#הפניה",),
    "hr": ("#preusmjeri",),
    "hu": ("#átirányítás",),
    "id": ("#alih",),
    "it": ("#rinvia", "#rinvio"),
    "ja": ("#転送", "#リダイレクト"),
    "ko": ("#넘겨주기",),
    "nl": ("#doorverwijzing",),
    "no": ("#omdirigering",),
    "pl": ("#patrz", "#przekieruj", "#tam"),
    "pt": ("#redirecionamento",),
    "ro": ("#redirecteaza",),
    "ru": ("#перенаправление", "#перенапр"),
    "sk": ("#presmeruj",),
    "sr": ("#преусмери", "#preusmeri"),
    "sv": ("#omdirigering",),
    "tr": ("#yönlendirme", "#yönlendi̇rme"),
    "uk": ("#перенаправлення", "#перенаправление"),
    "vi": ("#đổi",),
    "zh": ("#重定向",),
}
_PROJECTS = {
    "wikipedia": "wiki",
    "wiktionary": "wiktionary",
    "wikibooks": "wikibooks",
    "wikinews": "wikinews",
    "wikiquote": "wikiquote",
    "wikisource": "wikisource",
    "wikiversity": "wikiversity",
    "wikivoyage": "wikivoyage",
}
_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_NAME = re.compile(r"([a-z][a-z_]*wiki)-(?:\d{8}|latest)-")


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteInfo:
    """What the beginning of one dump says; empty where it does not."""

    wiki: str = ""
    lang: str = ""
    base: str = ""
    first_letter: bool = True
    namespaces: dict[str, int] = field(default_factory=dict)

    @classmethod
    def from_header(cls, path: Path, header: bytes) -> "SiteInfo":
        try:
            root = parse_xml(header.replace(b"</mediawiki>", b"").strip() + b"</mediawiki>")
        except ValueError as error:
            raise not_a_dump(path, f"its beginning is not XML ({error})") from error
        if _local(str(root.tag)) != "mediawiki":
            raise not_a_dump(path, f"it holds <{_local(str(root.tag))}>, not <mediawiki>")
        said = {_local(str(each.tag)): each for each in root.iter() if isinstance(each.tag, str)}
        texts = {name: (each.text or "").strip() for name, each in said.items()}
        wiki, lang = _named(texts.get("base", ""), path)
        return cls(
            wiki=texts.get("dbname", "") or wiki,
            lang=root.get(_LANG, "") or lang,
            base=texts.get("base", ""),
            first_letter=texts.get("case", "first-letter") == "first-letter",
            namespaces={
                each.text.strip().replace("_", " ").lower(): int(each.get("key", 0))
                for each in root.iter()
                if isinstance(each.tag, str) and _local(each.tag) == "namespace" and each.text
            },
        )

    @classmethod
    def from_json(cls, text: str) -> "SiteInfo":
        return cls(**json.loads(text))

    def to_json(self) -> str:
        return json.dumps(
            {
                "wiki": self.wiki,
                "lang": self.lang,
                "base": self.base,
                "first_letter": self.first_letter,
                "namespaces": self.namespaces,
            }
        )


def site_of(infos: Sequence[tuple[Path, SiteInfo]]) -> Site:
    """The wiki of one or several dumps. A dump that does not say which wiki it is of is taken to be of the others'."""
    told = [(path, info) for path, info in infos if info.wiki]
    for path, info in told:
        if info.wiki != told[0][1].wiki:
            raise Misuse(
                f"{path} is a dump of {info.wiki}, and {told[0][0]} one of {told[0][1].wiki}",
                hint="give the dumps of one wiki at a time, each to its own store",
            )
    first = told[0][1] if told else infos[0][1]
    lang = first.lang or next((info.lang for _, info in infos if info.lang), "en")
    namespaces = dict(_NAMESPACES)
    if _is_wikipedia(first):
        namespaces |= _OF_WIKIPEDIAS
    for _, info in infos:
        namespaces |= info.namespaces
    return Site(
        wiki=first.wiki or f"{lang.replace('-', '_')}wiki",
        lang=lang,
        article_url=first.base.rpartition("/")[0] + "/$1" if first.base else f"https://{lang}.wikipedia.org/wiki/$1",
        first_letter=first.first_letter,
        namespaces=namespaces,
        interwiki=USUAL_INTERWIKI - {name for name, key in namespaces.items() if key},
        redirect_words=tuple(dict.fromkeys(("#redirect", *_REDIRECT_WORDS.get(lang.partition("-")[0], ())))),
    )


def _is_wikipedia(info: SiteInfo) -> bool:
    return not info.base or ".wikipedia.org" in info.base


def _named(base: str, path: Path) -> tuple[str, str]:
    """The wiki and its language from the address of its main page, or from the name that Wikimedia gives its files."""
    host = (urlsplit(base).hostname or "").removeprefix("www.")
    lang, _, domain = host.partition(".")
    project = domain.partition(".")[0]
    if project in _PROJECTS:
        return lang.replace("-", "_") + _PROJECTS[project], "en" if lang == "simple" else lang
    if project == "wikimedia" or host in {"wikidata.org", "mediawiki.org"}:
        return f"{lang}wiki", "en"
    if host:
        return host, ""
    named = _NAME.match(path.name)
    return (named[1], named[1].removesuffix("wiki").replace("_", "-")) if named else ("", "")


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
