"""Which entries of a folder the patterns of a .gitignore mean, asked about one entry at a time as git does.

pathspec's patterns match all that is below a folder as well. Git looks at the entry alone, which differs once a folder
is ignored and something in it taken back. So each pattern is made to end in a mark that no name can hold, and is
asked about a path that ends in it: then only the entry itself can match.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import fsdecode, fsencode
from pathlib import Path

from pathspec import GitIgnoreSpec

_MARK = "\0"
_GROUP_NAME = re.compile(r"\?P<\w+>")
_CLASSES = {
    "[:alnum:]": "a-zA-Z0-9",
    "[:alpha:]": "a-zA-Z",
    "[:digit:]": "0-9",
    "[:lower:]": "a-z",
    "[:upper:]": "A-Z",
    "[:space:]": " \t\v\f",
    "[:xdigit:]": "0-9a-fA-F",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pattern:
    matches: re.Pattern[str]
    whole_path: bool
    only_folders: bool
    takes_back: bool


class Patterns:
    """The patterns of one file, for entries in the folder of that file and below. The last that matches decides."""

    def __init__(self, lines: Iterable[str]) -> None:
        found = [pattern for line in lines if (pattern := _pattern(line))]
        self._last_first = found[::-1]
        self._names = _any(pattern for pattern in found if not pattern.whole_path)
        self._paths = _any(pattern for pattern in found if pattern.whole_path)

    def __bool__(self) -> bool:
        return bool(self._last_first)

    def verdict(self, path: str, name: str, *, is_folder: bool) -> bool | None:
        """True if the entry is ignored, False if it is taken back, None if nothing is said about it."""
        if not path.isascii():
            path, name = _as_git_sees(path), _as_git_sees(name)
        path, name = path + _MARK, name + _MARK
        # Nearly every entry is none that any pattern is about.
        if not (self._names and self._names.match(name)) and not (self._paths and self._paths.match(path)):
            return None
        for pattern in self._last_first:
            if (is_folder or not pattern.only_folders) and pattern.matches.match(path if pattern.whole_path else name):
                return not pattern.takes_back
        return None


def read_patterns(path: Path) -> Patterns:
    """The patterns of a file on disk, in whichever encoding its names are."""
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    return Patterns(fsdecode(data).split("\n"))


def unreadable(patterns: Sequence[str]) -> Iterator[str]:
    """The patterns among these that mean nothing at all."""
    return (pattern for pattern in patterns if _pattern(pattern) is None)


def _pattern(line: str) -> _Pattern | None:
    """Git's own reading of a line; None for a comment, and for a pattern that can match no name."""
    text = _without_trailing_spaces(_as_git_sees(line).removesuffix("\r"))
    if not text or text.startswith("#"):
        return None
    takes_back = text.startswith("!")
    text = text.removeprefix("!")
    only_folders = text.endswith("/")
    text = text.removesuffix("/")
    if not text or _ends_in_escape(text):
        return None
    whole_path = "/" in text
    text = text.removeprefix("/")
    if whole_path and (text == "**" or text.endswith("/**")):
        text += "/*"
    matches = _compiled(f"/{text}{_MARK}")
    if matches is None:
        return None
    return _Pattern(matches=matches, whole_path=whole_path, only_folders=only_folders, takes_back=takes_back)


def _as_git_sees(text: str) -> str:
    """A character for each byte: to git, an `é` is two of what `?` stands for."""
    return text if text.isascii() else fsencode(text).decode("latin-1")


def _without_trailing_spaces(text: str) -> str:
    bare = text.rstrip(" ")
    return f"{bare} " if bare != text and _ends_in_escape(bare) else bare


def _ends_in_escape(text: str) -> bool:
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _compiled(pattern: str) -> re.Pattern[str] | None:
    for name, members in _CLASSES.items():
        pattern = pattern.replace(name, members)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of brackets in brackets, which Python may read otherwise one day
            read = GitIgnoreSpec.from_lines([pattern]).patterns[0].regex
    except (ValueError, re.error):
        return None
    return re.compile(_GROUP_NAME.sub("?:", read.pattern)) if read else None


def _any(patterns: Iterable[_Pattern]) -> re.Pattern[str] | None:
    alternatives = "|".join(f"(?:{pattern.matches.pattern})" for pattern in patterns)
    return re.compile(alternatives) if alternatives else None
