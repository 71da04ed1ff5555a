"""From a link as it is written to the names that it may mean, and from headings to the names that links use.

Knows paths inside a root and nothing of which files are there: that is found when all are known.
"""

import re
from posixpath import dirname, splitext
from unicodedata import category
from urllib.parse import unquote

from pipelines.files.model import Reference, ReferenceKind, file_alias

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_PLACE_IN_FILE = re.compile(r"L\d+|:~:|page=|\^")
_FRONT_PAGES = ("README.md", "index.md", "readme.md", "index.html", "README.rst", "index.rst")
_PAGES = (".md", ".html", ".rst")
# What a page is written as, where a link names what is made of it.
_SOURCES = {".html": (".md", ".rst"), ".htm": (".md",)}
_WIKI = re.compile(r"\[\[([^\[\]|\n]*)(?:\|[^\[\]\n]*)?\]\]")


def slug(title: str) -> str:
    """The anchor that GitHub makes of a heading, before repeats are numbered."""
    return "".join(each for each in title.strip().lower() if each in " -" or _in_a_word(each)).replace(" ", "-")


def _in_a_word(character: str) -> bool:
    return category(character)[0] in "LMN" or category(character) == "Pc"


class Slugs:
    """Anchors of one file, each once: the second `install` is `install-1`. The empty one belongs to no heading."""

    def __init__(self) -> None:
        self._repeats = {"": 0}

    def unique(self, title: str) -> str:
        plain = found = slug(title)
        while found in self._repeats:
            self._repeats[plain] += 1
            found = f"{plain}-{self._repeats[plain]}"
        self._repeats[found] = 0
        return found


def link(source: str, href: str, line: int) -> Reference | None:
    """What a link in the file `source` refers to; None for a place outside of the project, or none at all."""
    target = href.strip()
    if not target or target == "#" or _SCHEME.match(target):
        return None
    path, _, anchor = target.partition("#")
    path = path.partition("?")[0]
    return Reference(
        kind=ReferenceKind.LINK, wants=_wants(source, unquote(path), unquote(anchor)), shown=href, line=line
    )


def wiki_links(source: str, text: str, line: int) -> list[Reference]:
    """The references of `[[Page]]`, `[[Page#Heading]]` and `[[Page|shown]]` in a text without code."""
    return [
        Reference(
            kind=ReferenceKind.LINK, wants=wants, shown=found.group(), line=line + text.count("\n", 0, found.start())
        )
        for found in _WIKI.finditer(text)
        if (wants := _wiki_wants(source, found.group(1)))
    ]


def wiki_name(path: str) -> str:
    """The alias that a page has for wiki links: its name without folder and extension, in any case."""
    return f"wiki:{splitext(path.rpartition('/')[2])[0].lower()}"


def resolved(source: str, path: str) -> str | None:
    """The path from the root that a relative path in the file `source` means; None if it leads out of the root."""
    steps = [] if path.startswith("/") else [step for step in dirname(source).split("/") if step]
    for step in path.split("/"):
        if step == "..":
            if not steps:
                return None
            steps.pop()
        elif step not in {"", "."}:
            steps.append(step)
    return "/".join(steps)


def _wants(source: str, path: str, anchor: str) -> tuple[str, ...]:
    in_file = _anchors(anchor)
    if not path:
        own = (file_alias(source),) if anchor.lower() == "top" or not in_file else ()
        return (*in_file, *own)
    target = resolved(source, path)
    if target is None:
        return ()
    files = _candidates(target, is_folder=path.endswith("/") or not target)
    return tuple(f"{file_alias(each)}{local}" for each in files for local in in_file or ("",))


def _anchors(anchor: str) -> tuple[str, ...]:
    """An anchor as written, and in lower case as a browser on GitHub finds it too; none for a line or a page."""
    if not anchor or _PLACE_IN_FILE.match(anchor):
        return ()
    return tuple(dict.fromkeys((f"#{anchor}", f"#{anchor.lower()}")))


def _candidates(target: str, *, is_folder: bool) -> list[str]:
    front_pages = [f"{target}/{page}" if target else page for page in _FRONT_PAGES]
    if is_folder:
        return front_pages
    stem, extension = splitext(target)
    if extension in _SOURCES:
        return [target, *(stem + other for other in _SOURCES[extension])]
    if extension[1:2].isalpha():
        return [target]
    # `guide` may be a page and `v1.2` a folder.
    return [target, *(target + page for page in _PAGES), *front_pages]


def _wiki_wants(source: str, inside: str) -> tuple[str, ...]:
    page, _, heading = inside.partition("#")
    page = page.strip()
    local = f"#{slug(heading.rpartition('#')[2])}" if heading and not heading.startswith("^") else ""
    if not page:
        return (local,) if local else ()
    name = page.rpartition("/")[2].lower().removesuffix(".md")
    paths = [file_alias(f"{resolved('', page)}.md")] if "/" in page and resolved("", page) else []
    names = [*paths, f"wiki:{name}", f"wiki:{name.replace(' ', '-')}"]
    return tuple(dict.fromkeys(each + local for each in names))
