"""What the tokens of a page mean: text, headings, links, categories.

Owns one walk over the tokens, without a tree and without recursion, so that depth costs nothing. Text goes to where the
innermost open construct wants it; what nobody reads is collected and dropped, but its links count.
"""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from mwparserfromhell.parser import tokens as t

from pipelines.wikipedia import titles
from pipelines.wikipedia.model import ARTICLES, CATEGORIES, Site
from pipelines.wikipedia.titles import Title
from pipelines.wikipedia.wikitext_marks import (
    CELL,
    CELL_ALONE,
    CELL_END,
    GAP,
    ITEM,
    ROW,
    SECTION,
    literal,
    names,
    readable,
)
from pipelines.wikipedia.wikitext_templates import saying, targets
from pipelines.wikipedia.wikitext_tokens import tokens_of

_FILES = 6
_LITERAL = names("nowiki pre math ce chem syntaxhighlight source hiero")
_BLOCKS_OF_LITERAL = names("pre syntaxhighlight source")
_PICTURES = frozenset(("gallery", "imagemap"))
_HIDDEN = names(
    "ref references categorytree graph inputbox score section templatedata timeline templatestyles style indicator "
    "mapframe maplink"
)
_BLOCKS = names("div p blockquote center ul ol dl table tr caption poem h1 h2 h3 h4 h5 h6")
_ITEMS = names("li dt dd")
_CELLS = names("td th")
_OPENING = {**dict.fromkeys(_BLOCKS, ROW + ROW), **dict.fromkeys(_ITEMS, ROW + ITEM), "tr": ROW, "caption": ROW}
_CLOSING = {**dict.fromkeys(_BLOCKS, ROW + ROW), **dict.fromkeys(_ITEMS, ""), "tr": "", "caption": ROW}
_ALONE = {**_OPENING, **dict.fromkeys(_CELLS, CELL_ALONE), "br": "\n", "hr": ROW + ROW}

_SHOWN = names(
    "thumb thumbnail frame framed enframed mini miniatur gerahmt vignette cadre miniatura miniaturadeimagen mini "
    "miniatyr ram marco riquadro miniaturadaimagem commoldura mały ramka міні мини миниатюра"
)
"""A caption is on the page only with these; without them it is what a mouse sees."""
_OPTION = re.compile(
    r"\d{0,6}x?\d{1,6} ?px(?:px)?|(?:upright|hochkant|redresse)(?: ?=? ?[\d.]{1,9})?"
    r"|border|frameless|rahmenlos|sans_cadre|left|right|center|centre|none|links|rechts|zentriert|ohne|gauche|droite"
    r"|centré|néant|baseline|sub|super|top|text-top|middle|bottom|text-bottom"
    r"|(?:alt|link|page|lang|class|thumb|thumbtime|start|end|verweis|alternativtext) ?=.*",
    re.IGNORECASE | re.DOTALL,
)
_LANGUAGE = re.compile(r"(?!voy|mw|wmf|doi|rfc)[a-z]{2,3}(?:-[a-z-]+)?|simple")
_PIPE_TRICK = re.compile(r"\s*(?:\([^()]*\)|,.*)\s*$")


class _Open:
    """Something that is not closed yet. `out` is where text went before it, and goes again after it."""

    __slots__ = ("brackets", "extent", "head", "key", "markup", "name", "out", "parts")

    def __init__(self, out: list[str]) -> None:
        self.out = out
        self.name: str | None = None
        self.markup: str | None = None
        self.head: list[str] | None = None
        self.key: list[str] | None = None
        self.parts: list[tuple[list[str] | None, list[str]]] = []
        self.extent = 0
        self.brackets = True


class Reading:
    """What one page holds; `text` is to be tidied, with a mark before each of `headings`."""

    def __init__(self, title: str, site: Site) -> None:
        self.headings: list[tuple[int, str]] = []
        self.links: Counter[str] = Counter()
        self.categories: dict[str, None] = {}
        self._title = title
        self._site = site
        self._page: list[str] = []
        self._out = self._page
        self._stack: list[_Open] = []
        self._titles: dict[str, Title | None] = {}
        self._handlers = self._all_handlers()

    @property
    def text(self) -> str:
        return "".join(self._page)

    def read(self, pieces: Iterable[Sequence[t.Token]]) -> None:
        handlers = self._handlers
        text = t.Text
        for token in chain.from_iterable(pieces):
            kind = type(token)
            if kind is text:
                self._out.append(token["text"])
            else:
                handlers[kind](token)

    def read_aside(self, pieces: Iterable[Sequence[t.Token]]) -> str:
        """Only the links and categories count; the text is for the caller."""
        outer, self._out = self._out, []
        self.read(pieces)
        text, self._out = "".join(self._out), outer
        return text

    def _all_handlers(self) -> dict[type[t.Token], Callable[[t.Token], None]]:
        return {
            t.TemplateOpen: self._open,
            t.TemplateParamSeparator: self._next_argument,
            t.TemplateParamEquals: self._argument_name,
            t.TemplateClose: self._close_template,
            t.ArgumentOpen: self._open,
            t.ArgumentSeparator: self._after_head,
            t.ArgumentClose: self._close_argument,
            t.WikilinkOpen: self._open,
            t.WikilinkSeparator: self._after_head,
            t.WikilinkClose: self._close_link,
            t.ExternalLinkOpen: self._open_external,
            t.ExternalLinkSeparator: self._after_head,
            t.ExternalLinkClose: self._close_external,
            t.HTMLEntityStart: self._open,
            t.HTMLEntityNumeric: lambda token: self._out.append("#"),
            t.HTMLEntityHex: lambda token: self._out.append("x"),
            t.HTMLEntityEnd: self._close_entity,
            t.HeadingStart: self._open_heading,
            t.HeadingEnd: self._close_heading,
            t.CommentStart: self._open,
            t.CommentEnd: self._drop,
            t.TagOpenOpen: self._open_tag,
            t.TagAttrStart: self._attribute,
            t.TagAttrEquals: self._nothing,
            t.TagAttrQuote: self._nothing,
            t.TagCloseOpen: self._tag_content,
            t.TagCloseSelfclose: self._close_tag_alone,
            t.TagOpenClose: self._tag_end,
            t.TagCloseClose: self._drop,
        }

    def _open(self, token: t.Token) -> None:
        self._stack.append(_Open(self._out))
        self._out = []

    def _close(self) -> tuple[_Open, list[str]]:
        """What is closed, and the text since its last part began."""
        opened = self._stack.pop()
        inside, self._out = self._out, opened.out
        return opened, inside

    def _drop(self, token: t.Token) -> None:
        self._out = self._stack.pop().out

    def _nothing(self, token: t.Token) -> None:
        """Part of an attribute, which nobody reads."""

    def _after_head(self, token: t.Token) -> None:
        self._stack[-1].head = self._out
        self._out = []

    def _leave_gap(self) -> None:
        if self._out is self._page:
            self._out.append(GAP)

    # Templates

    def _next_argument(self, token: t.Token) -> None:
        opened = self._stack[-1]
        opened.parts.append((opened.key, self._out))
        opened.key = None
        self._out = []

    def _argument_name(self, token: t.Token) -> None:
        self._stack[-1].key = self._out
        self._out = []

    def _close_template(self, token: t.Token) -> None:
        opened, inside = self._close()
        (_, head), *parts = [*opened.parts, (opened.key, inside)]
        name = "".join(head).strip().lower().replace("_", " ").removeprefix("template:")
        if name == "pagename":
            self._out.append(literal(self._title))
            return
        arguments: dict[str, str] = {}
        number = 0
        for key, value in parts:
            if key is None:
                number += 1
            arguments[str(number) if key is None else "".join(key).strip()] = "".join(value)
        said = saying(name, arguments)
        for target in targets(name, arguments):
            self._count(self._normalised(target.partition("|")[0].replace(GAP, "")))
        if said is None:
            self._leave_gap()
        else:
            self._out.append(said)

    def _close_argument(self, token: t.Token) -> None:
        opened, inside = self._close()
        if opened.head is not None:
            self._out += inside

    # Links

    def _close_link(self, token: t.Token) -> None:
        opened, inside = self._close()
        written = "".join(inside if opened.head is None else opened.head)
        label = None if opened.head is None else "".join(inside)
        title = self._normalised(written)
        aside = written.lstrip().startswith(":")
        if title is None:
            self._out.append(written if label is None else label)
        elif title.interwiki is not None:
            if aside or label or not _LANGUAGE.fullmatch(title.interwiki):
                self._out.append(label or written.strip().removeprefix(":"))
        elif title.namespace == CATEGORIES and not aside:
            self.categories.setdefault(title.title)
        elif title.namespace == _FILES and not aside:
            self._caption(label)
        else:
            self._count(title)
            self._out.append(self._label(title, written, label))

    def _label(self, title: Title, written: str, label: str | None) -> str:
        if label is None:
            return written.strip().removeprefix(":")
        if label.strip():
            return label
        return _PIPE_TRICK.sub("", title.title)

    def _caption(self, options: str | None) -> None:
        parts = [] if options is None else options.split("|")
        if len(parts) < 2 or not any(part.strip().lower() in _SHOWN for part in parts):
            return
        if shown := _caption_in(parts):
            self._out += [ROW, ROW, shown, ROW, ROW]

    def _normalised(self, written: str) -> Title | None:
        if written not in self._titles:
            self._titles[written] = titles.normalise(readable(written), self._site, base=self._title)
        return self._titles[written]

    def _count(self, title: Title | None) -> None:
        if title is not None and title.namespace == ARTICLES and title.interwiki is None and title.title != self._title:
            self.links[title.title] += 1

    def _open_external(self, token: t.Token) -> None:
        self._open(token)
        self._stack[-1].brackets = token["brackets"]

    def _close_external(self, token: t.Token) -> None:
        opened, inside = self._close()
        if opened.head is not None:
            self._out += inside
        elif not opened.brackets:
            self._out.append(literal("".join(inside)))

    def _close_entity(self, token: t.Token) -> None:
        _, inside = self._close()
        self._out.append(literal(html.unescape(f"&{''.join(inside)};")))

    # Headings

    def _open_heading(self, token: t.Token) -> None:
        self._open(token)
        self._stack[-1].extent = token["level"]

    def _close_heading(self, token: t.Token) -> None:
        opened, inside = self._close()
        title = "".join(inside)
        if self._out is self._page:
            self.headings.append((max(2, opened.extent), title))
            self._out.append(SECTION)
        else:
            self._out += ["\n", title, "\n"]

    # Tags

    def _open_tag(self, token: t.Token) -> None:
        self._open(token)
        self._stack[-1].markup = token.get("wiki_markup")

    def _attribute(self, token: t.Token) -> None:
        opened = self._stack[-1]
        if opened.name is None:
            opened.name = "".join(self._out).strip().lower()
            self._out = opened.head = []
        else:
            self._out = []

    def _named(self) -> tuple[_Open, str]:
        opened = self._stack[-1]
        if opened.name is None:
            opened.name = "".join(self._out).strip().lower()
        return opened, opened.name

    def _tag_content(self, token: t.Token) -> None:
        opened, name = self._named()
        if name in _LITERAL or name in _HIDDEN or name in _PICTURES:
            self._out = []
            return
        self._out = opened.out
        if name in _CELLS:
            caption = opened.markup == "|" and opened.head is not None and "".join(opened.head).strip() == "+"
            opened.name = "caption" if caption else name
            self._out.append(ROW if caption else CELL)
            opened.extent = len(self._out)
        elif name in _OPENING:
            self._out.append(_OPENING[name])

    def _tag_end(self, token: t.Token) -> None:
        opened = self._stack[-1]
        name = opened.name or ""
        inside, self._out = self._out, opened.out
        if name in _LITERAL:
            text = literal("".join(inside))
            self._out.append(f"{ROW}{text}{ROW}" if name in _BLOCKS_OF_LITERAL else text)
        elif name in _PICTURES:
            self._captions("".join(inside))
        elif name in _CELLS:
            self._end_cell(opened)
        elif name in _CLOSING:
            self._out.append(_CLOSING[name])
        self._out = []

    def _end_cell(self, opened: _Open) -> None:
        start, out = opened.extent, self._out
        if opened.markup == "|" and len(out) > start and out[start].startswith("+"):
            out[start - 1], out[start] = ROW, out[start][1:]
            out.append(ROW)
        else:
            out.append(CELL_END)

    def _close_tag_alone(self, token: t.Token) -> None:
        opened, name = self._named()
        self._stack.pop()
        out = self._out = opened.out
        if opened.markup is not None and name in _ITEMS:
            in_line = out and not out[-1].endswith(("\n", ITEM, SECTION, ROW, CELL))
            out.append(ROW if in_line and opened.markup == ":" else ITEM)
        elif name in _ALONE:
            out.append(_ALONE[name])

    def _captions(self, inside: str) -> None:
        """Of a gallery, a line for each picture; the rest of an image map is where one may click."""
        for line in self.read_aside(tokens_of(inside)).split("\n"):
            if shown := _caption_in(line.split("|")[1:]):
                self._out += [ROW, shown, ROW]


def _caption_in(parts: Sequence[str]) -> str:
    """The last that is no option."""
    stripped = [part.strip() for part in parts]
    return next((each for each in reversed(stripped) if each.lower() not in _SHOWN and not _OPTION.fullmatch(each)), "")
