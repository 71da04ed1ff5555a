"""The tokens of a wikitext, in time that grows with its length whatever is in it.

mwparserfromhell's tokenizer tries every opening sign to the end of the page, so that a page with many that are never
closed would take hours. Owns the measure of that, and a plain scanner that makes the same kinds of tokens, more
coarsely, for the parts of a page that are hopeless. What tokens mean is not known here.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mwparserfromhell.parser import tokens as t
from mwparserfromhell.parser._tokenizer import CTokenizer  # type: ignore[import-not-found]  # it is in C

from pipelines.wikipedia.wikitext_marks import names

RAW = names(
    "categorytree ce chem gallery graph hiero imagemap inputbox math nowiki pre score section source syntaxhighlight "
    "templatedata timeline"
)
"""Tags whose content is no wikitext."""
_DEEPEST = 24
"""The tokenizer gives up at 40, of which one construct may take several."""
_HOPELESS = 3_000_000
"""Signs that are never closed times characters: a second of the tokenizer at worst."""
_LONG = 300_000
_MOST_SIGNS = 1_000_000
_MOST_MARKS = 600_000
_MOST_OPEN = 50_000
"""More than ten times what the longest pages of large wikis have, and still some seconds."""
_SINGLE = names("br wbr hr meta link img")
_MAYBE_SINGLE = names("li dt dd th td tr")
_CLOSES = {"}}": "{{", "]]": "[[", "|}": "{|"}


_RAW_NAMES = "|".join(sorted(RAW))
_VEIL = re.compile(rf"<!--|<(?P<raw>{_RAW_NAMES})(?:\s[^<>]*)?(?<!/)>", re.IGNORECASE)
_MARK = re.compile(
    rf"\{{\{{|\}}\}}|\[\[|\]\]|^[ \t:*#;]*(?P<table>\{{\|)|^[ \t]*(?P<table_end>\|\}})(?!\}})"
    rf"|<(?P<raw>{_RAW_NAMES})(?:\s[^<>]*)?(?<!/)>"
    r"|<(?P<slash>/?)(?P<tag>[A-Za-z][A-Za-z0-9]*)(?P<attributes>[^<>]*)(?P<tag_end>>?)"
    r"|\[(?P<url>(?:https?://|ftps?://|ircs?://|//|mailto:|news:)[^\s\[\]<>]*)"
    r"[ \t]?(?P<label>[^\[\]\n]*)(?P<url_end>\]?)"
    r"|^(?P<level>={1,6})(?P<heading>[^\n]+?)(?P=level)[ \t]*$"
    r"|^(?P<half>=)",
    re.IGNORECASE | re.MULTILINE,
)
_ENTITY = re.compile(r"&(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z0-9]{2,31});")
_LIST = re.compile(r"^[*#:;]+", re.MULTILINE)


class TooDense(Exception):
    """There are so many signs of markup that reading them would take minutes."""


def without_comments(text: str) -> str:
    """As a wiki does before anything else: a comment that has its lines for itself takes one of its line ends along."""
    if "<!--" not in text:
        return text
    pieces = []
    kept = 0
    for start, end, raw in _veiled(text):
        if raw:
            continue
        before, after = start, end
        while before > kept and text[before - 1] in " \t":
            before -= 1
        while after < len(text) and text[after] in " \t":
            after += 1
        alone = before and text[before - 1] == "\n" and text[after : after + 1] == "\n"
        pieces.append(text[kept : before if alone else start])
        kept = after + 1 if alone else end
    pieces.append(text[kept:])
    return "".join(pieces)


def tokens_of(text: str) -> Iterator[Sequence[t.Token]]:
    """Of a text without comments; those of a long one some at a time."""
    if len(text) > _LONG and sum(map(text.count, "{[<*#:;|&!=-")) > _MOST_SIGNS:
        raise TooDense(f"the page has more than {_MOST_SIGNS:,} signs of markup")
    scan = _Scan(text)
    if len(text) <= _LONG and scan.hopeful(0, len(text)):
        yield _tokenized(text)
        return
    for start, end in scan.pieces():
        piece = text[start:end]
        if scan.hopeful(start, end):
            yield _tokenized(piece)
        else:
            part = _Scan(piece)
            yield _tokenized(piece) if part.hopeful(0, len(piece)) else list(_Plain(part).tokens())


def _tokenized(text: str) -> list[t.Token]:
    found: list[t.Token] = CTokenizer().tokenize(text, 0, True)
    return found


def _veiled(text: str) -> Iterator[tuple[int, int, bool]]:
    """Where comments are, and what is raw and so has none. A comment without an end is one to the end of the page."""
    lower = text.lower() if len(text.lower()) == len(text) else text
    endless: set[str] = set()
    position = 0
    while veil := _VEIL.search(text, position):
        raw = veil["raw"]
        position = veil.end()
        if raw is None:
            end = text.find("-->", position)
            position = len(text) if end < 0 else end + 3
            yield veil.start(), position, False
        elif raw.lower() not in endless:
            end = lower.find(f"</{raw.lower()}", position)
            if end < 0:
                endless.add(raw.lower())
            else:
                position = end
                yield veil.start(), end, True


@dataclass(slots=True)
class _Mark:
    start: int
    end: int
    kind: str
    """An opening sign, the name of a tag, or what is complete in itself: raw, url, heading."""
    match: re.Match[str]
    partner: "_Mark | None" = None
    opens: bool = False


@dataclass(slots=True)
class _Scan:
    """Every sign that may open or close something, and which belong together."""

    text: str
    marks: list[_Mark] = field(default_factory=list)
    loose: list[int] = field(default_factory=list)
    """Where signs are that nothing closes."""
    deepest: int = 0
    _open: list[_Mark] = field(default_factory=list)
    _counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _endless: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        position = 0
        while match := _MARK.search(self.text, position):
            position = self._see(match)
            if len(self.marks) + len(self.loose) > _MOST_MARKS:
                raise TooDense(f"the page has more than {_MOST_MARKS:,} signs of links, templates and tags")
            if len(self._open) > _MOST_OPEN:
                raise TooDense(f"the page has more than {_MOST_OPEN:,} links, templates and tags that nothing closes")
        self.loose += [mark.start for mark in self._open]
        self.loose.sort()
        self._open.clear()

    def _see(self, match: re.Match[str]) -> int:
        sign = match[0]
        if match.lastgroup is None:
            self._see_sign(sign, match)
        elif match["raw"] is not None:
            return self._see_raw(match)
        elif match["tag"] is not None:
            self._see_tag(match)
        elif match["table"] is not None:
            self._begin("{|", match)
        elif match["table_end"] is not None:
            self._finish("{|", match)
        elif match["heading"] is not None:
            self._see_whole("heading", match, match["heading"])
        elif match["url_end"]:
            self._see_whole("url", match, match["label"])
        else:
            self.loose.append(match.start())
            return match.end("url") if match["url"] else match.end()
        return match.end()

    def _see_whole(self, kind: str, match: re.Match[str], inside: str) -> None:
        """What is in it is not looked at, but for signs that want an end beyond it."""
        self.marks.append(_Mark(match.start(), match.end(), kind, match))
        unclosed = inside.count("<") - 2 * inside.count("</")
        unclosed += max(0, inside.count("{{") - inside.count("}}")) + max(0, inside.count("[[") - inside.count("]]"))
        self.loose += [match.start()] * unclosed

    def _see_sign(self, sign: str, match: re.Match[str]) -> None:
        if sign in _CLOSES:
            self._finish(_CLOSES[sign], match)
        else:
            self._begin(sign, match)

    def _see_raw(self, match: re.Match[str]) -> int:
        name = match["raw"].lower()
        end = None
        if name not in self._endless:
            end = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(self.text, match.end())
        if end is None:
            self._endless.add(name)
            self.loose.append(match.start())
            return match.end()
        self.marks.append(_Mark(match.start(), end.end(), "raw", match))
        return end.end()

    def _see_tag(self, match: re.Match[str]) -> None:
        name = match["tag"].lower()
        if not match["tag_end"] or match["attributes"].count('"') % 2:
            self.loose.append(match.start())
        elif match["slash"]:
            self._finish(name, match)
        elif name in _MAYBE_SINGLE:
            self._see_maybe_single(name, match)
        elif name not in _SINGLE and not match["attributes"].endswith("/"):
            self._begin(name, match)

    def _see_maybe_single(self, name: str, match: re.Match[str]) -> None:
        """Its end may be left out, which costs the tokenizer nothing but within something else."""
        if self._open and self._open[-1].kind == name:
            self._counts[name] -= 1
            self.loose.append(self._open.pop().start)
        if self._open:
            self._begin(name, match)

    def _begin(self, kind: str, match: re.Match[str]) -> None:
        mark = _Mark(match.start(), match.end(), kind, match, opens=True)
        self.marks.append(mark)
        self._open.append(mark)
        self._counts[kind] += 1
        self.deepest = max(self.deepest, len(self._open))

    def _finish(self, kind: str, match: re.Match[str]) -> None:
        if not self._counts[kind]:
            return
        closing = _Mark(match.start(), match.end(), kind, match)
        while True:
            opening = self._open.pop()
            self._counts[opening.kind] -= 1
            if opening.kind == kind:
                break
            self.loose.append(opening.start)
        opening.partner, closing.partner = closing, opening
        self.marks.append(closing)

    def pieces(self) -> Iterator[tuple[int, int]]:
        """Cut before headings that are within nothing."""
        start = inside = 0
        for mark in self.marks:
            if mark.kind == "heading" and mark.start >= inside:
                yield start, mark.start
                start = mark.start
            elif mark.opens and mark.partner is not None:
                inside = max(inside, mark.partner.end)
        yield start, len(self.text)

    def hopeful(self, start: int, end: int) -> bool:
        """Whether the tokenizer would be done with that part within seconds."""
        loose = bisect_left(self.loose, end) - bisect_left(self.loose, start)
        return self.deepest <= _DEEPEST and loose * (end - start) <= _HOPELESS


@dataclass(slots=True)
class _Plain:
    """Coarser than the tokenizer: tables and lists stay as they are written, and no argument has a name."""

    scan: _Scan
    _around: list[str] = field(default_factory=list)
    """What is open: links until their label begins, and templates."""

    def tokens(self) -> Iterator[t.Token]:
        position = 0
        for mark in self.scan.marks:
            if mark.start < position or (mark.partner is None and mark.kind not in {"raw", "url", "heading"}):
                continue
            if mark.kind == "heading" and self._around:
                continue
            yield from self._text(self.scan.text[position : mark.start])
            position = mark.end
            yield from self._sign(mark)
        yield from self._text(self.scan.text[position:])

    def _sign(self, mark: _Mark) -> Iterator[t.Token]:
        match mark.kind:
            case "{{" | "[[":
                yield self._pair(mark)
            case "{|":
                yield t.Text(text=mark.match[0])
            case "heading":
                yield t.HeadingStart(level=len(mark.match["level"]))
                yield from _Plain(_Scan(mark.match["heading"].strip("="))).tokens()
                yield t.HeadingEnd()
            case "url":
                yield from _external(mark.match)
            case "raw":
                name = mark.match["raw"]
                inside = self.scan.text[mark.match.end() : self.scan.text.rindex("<", 0, mark.end)]
                yield from (t.TagOpenOpen(), t.Text(text=name), t.TagCloseOpen(padding=""), t.Text(text=inside))
                yield from (t.TagOpenClose(), t.Text(text=name), t.TagCloseClose())
            case name if mark.opens:
                yield from (t.TagOpenOpen(), t.Text(text=name), t.TagCloseOpen(padding=""))
            case name:
                yield from (t.TagOpenClose(), t.Text(text=name), t.TagCloseClose())

    def _pair(self, mark: _Mark) -> t.Token:
        if mark.opens:
            self._around.append(mark.kind)
            opening: t.Token = t.TemplateOpen() if mark.kind == "{{" else t.WikilinkOpen()
            return opening
        self._around.pop()
        closing: t.Token = t.TemplateClose() if mark.kind == "{{" else t.WikilinkClose()
        return closing

    def _text(self, text: str) -> Iterator[t.Token]:
        if not self._around:
            yield from _words(text)
            return
        first, *others = text.split("|")
        yield from _words(first)
        for other in others:
            if self._around[-1] == "{{":
                yield t.TemplateParamSeparator()
            elif self._around[-1] == "[[":
                yield t.WikilinkSeparator()
                self._around[-1] = "label"
            else:
                yield t.Text(text="|")
            yield from _words(other)


def _external(match: re.Match[str]) -> Iterator[t.Token]:
    yield from (t.ExternalLinkOpen(brackets=True), t.Text(text=match["url"]))
    if match["label"]:
        yield t.ExternalLinkSeparator()
        yield from _words(match["label"])
    yield t.ExternalLinkClose()


def _words(text: str) -> Iterator[t.Token]:
    position = 0
    for entity in _ENTITY.finditer(text) if "&" in text else ():
        yield t.Text(text=text[position : entity.start()])
        yield from (t.HTMLEntityStart(), t.Text(text=entity[1]), t.HTMLEntityEnd())
        position = entity.end()
    if position < len(text):
        yield t.Text(text=_LIST.sub("", text[position:]))
