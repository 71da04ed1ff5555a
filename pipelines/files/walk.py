"""Finding the files of a root, in a settled order, without what git ignores and what a person left out.

Reads no file but those that say what to ignore. Follows no link: what it leads to is read under its own name if it is
in the root, and is not part of the root if it is not. What cannot be looked at is told apart from what is not there.
"""

import os
import stat
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from pathlib import Path

from pathspec import GitIgnoreSpec

from graph_stores.errors import Misuse
from pipelines.files.ignoring import Patterns, read_patterns, unreadable

_HISTORY = frozenset({".git", ".hg", ".svn", ".bzr", ".jj"})
_IGNORE_FILE = ".gitignore"
_REPOSITORY = ".git"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Patterns as in a .gitignore, from the root. With any to include, only files that they match are read.

    To include is no way around a .gitignore: what git ignores is read only as a root of its own.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file to read: its path from the root, its size, and when it was modified in nanoseconds."""

    path: str
    size: int
    modified: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something that is there and is not read. Below a `folder` nothing could be seen, so nothing there is gone."""

    path: str
    reason: str
    folder: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """The part of a root whose paths are from `since` on and before `until`; of a folder at its top, all or nothing."""

    since: str = ""
    until: str = ""
    name: str = field(default="", compare=False)
    """Its first folder, and its last where there are several."""

    def has(self, path: str) -> bool:
        return self.since <= path and (not self.until or path < self.until)


WHOLE = Stretch()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """Patterns, and how a path from the root is said from the folder that they stand in."""

    patterns: Patterns
    cut: int = 0
    above: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Root:
    """A root with all that is the same for every folder in it. A store in it is no file of it."""

    place: str
    exclude: Patterns
    include: GitIgnoreSpec | None
    own: str | None
    stretch: Stretch = WHOLE

    def leaves_out(self, path: str, name: str, levels: Sequence[_Level], *, is_folder: bool) -> bool:
        if name in _HISTORY or (self.own and (path == self.own or path.startswith(f"{self.own}."))):
            return True
        if self.exclude and self.exclude.verdict(path, name, is_folder=is_folder):
            return True
        for level in levels:
            verdict = level.patterns.verdict(level.above + path[level.cut :], name, is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False

    def wants(self, path: str) -> bool:
        return self.include is None or self.include.match_file(path)


def check_rules(rules: Rules) -> None:
    """Raise Misuse for a pattern that can match nothing, which is surely not what was meant."""
    for pattern in unreadable([*rules.include, *rules.exclude]):
        raise Misuse(
            f"the pattern {pattern!r} matches nothing, expected one as in a .gitignore",
            hint="write for example '*.log', 'build/' or '/docs/**/*.md'",
        )


def walk(root: Path, rules: Rules, own: Path | None = None, *, stretch: Stretch = WHOLE) -> Iterator[Found | LeftOut]:
    """Every file of a root, sorted folder by folder. `own` is where a store is, which is no file and left out.

    A root that is a file is that file. One that is not there is left out as a folder: its files are not seen as gone.
    """
    try:
        status = root.stat()
    except OSError as error:
        yield LeftOut(path="", reason=_cannot("the root", error), folder=True)
        return
    if stat.S_ISDIR(status.st_mode):
        yield from _walk_folders(replace(_root(root, rules, own), stretch=stretch), _levels_above(root))
    elif stat.S_ISREG(status.st_mode):
        yield Found(path=root.name, size=status.st_size, modified=status.st_mtime_ns)
    else:
        yield LeftOut(path=root.name, reason=_what_it_is(status.st_mode))


def entries_in(root: Path, *, most: int) -> int:
    """How many files and folders there are in a root, ignored or not; as soon as there are so many, that many."""
    count, waiting = 0, [os.fspath(root)]
    while waiting and count < most:
        with suppress(OSError), os.scandir(waiting.pop()) as listed:
            for entry in islice(listed, most - count):
                count += 1
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
    return count


def stretches(root: Path, rules: Rules, own: Path | None = None, *, most: int) -> list[Stretch]:
    """A root in parts that can be walked apart from each other, about as many folders at its top in each."""
    if most == 1 or not root.is_dir():
        return [WHOLE]
    top = _look_into(_root(root, rules, own), "", _levels_above(root))
    # Between names in ASCII every engine has the same order.
    folders = sorted(entry[0] for entry in top if isinstance(entry, tuple) and entry[0].isascii())
    step = max(1, -(-len(folders) // most))
    groups = [folders[start : start + step] for start in range(0, len(folders), step)] or [[]]
    bounds = ["", *(group[0] for group in groups[1:]), ""]
    names = ["…".join(dict.fromkeys(folder.rstrip("/") for folder in (*group[:1], *group[-1:]))) for group in groups]
    return [
        Stretch(since=since, until=until, name=name)
        for (since, until), name in zip(pairwise(bounds), names, strict=True)
    ]


def follows(root: Path, rules: Rules, path: str, own: Path | None = None) -> bool:
    """Whether a path in the root would be looked at, be it there or gone: that is whether a change of it matters.

    A change of a .gitignore matters to all files below it, and only walking again shows to which.
    """
    if not root.is_dir():
        return path == root.name
    whole, here, levels = _root(root, rules, own), "", _levels_above(root)
    *folders, name = path.split("/")
    try:
        for folder in folders:
            levels = _levels_in(whole, here, levels, _there(root / here))
            if whole.leaves_out(here + folder, folder, levels, is_folder=True) or (root / here / folder).is_symlink():
                return False
            here += f"{folder}/"
        levels = _levels_in(whole, here, levels, _there(root / here))
    except OSError:
        return False
    is_folder = (root / path).is_dir() and not (root / path).is_symlink()
    return not whole.leaves_out(path, name, levels, is_folder=is_folder) and (is_folder or whole.wants(path))


def _there(folder: Path) -> list[str]:
    return [name for name in (_IGNORE_FILE, _REPOSITORY) if (folder / name).exists()]


def _root(root: Path, rules: Rules, own: Path | None) -> _Root:
    place = os.path.realpath(root)
    store = os.path.relpath(os.path.realpath(own), place) if own else None
    return _Root(
        place=place,
        exclude=Patterns(rules.exclude),
        include=GitIgnoreSpec.from_lines(rules.include) if rules.include else None,
        own=store.replace(os.sep, "/") if store else None,
    )


def _walk_folders(root: _Root, above: tuple[_Level, ...]) -> Iterator[Found | LeftOut]:
    # A stack of our own: a tree may be deeper than Python's.
    waiting = [iter(_look_into(root, "", above))]
    while waiting:
        for entry in waiting[-1]:
            if isinstance(entry, tuple):
                waiting.append(iter(_look_into(root, *entry)))
                break
            yield entry
        else:
            waiting.pop()


_Folder = tuple[str, tuple[_Level, ...]]
_Entry = Found | LeftOut | _Folder


def _look_into(root: _Root, here: str, levels: tuple[_Level, ...]) -> list[_Entry]:
    """What is in one folder: files, what is left out, and folders that are to be looked into in turn."""
    try:
        with os.scandir(f"{root.place}{os.sep}{here}") as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
        levels = _levels_in(root, here, levels, {entry.name for entry in entries})
    except (FileNotFoundError, NotADirectoryError) as error:
        # A folder that is gone since it was listed is gone, but nothing is known of a root that is.
        return [] if here else [LeftOut(path="", reason=_cannot("the root", error), folder=True)]
    except OSError as error:
        return [LeftOut(path=here.rstrip("/"), reason=_cannot("the folder", error), folder=True)]
    seen = []
    for entry in entries:
        path = here + entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if not here and not root.stretch.has(f"{path}/" if is_folder else path):
            continue
        if not root.leaves_out(path, entry.name, levels, is_folder=is_folder):
            found = _seen(root, entry, path, levels, is_folder=is_folder)
            if found:
                seen.append(found)
    return seen


def _seen(
    root: _Root, entry: "os.DirEntry[str]", path: str, levels: tuple[_Level, ...], *, is_folder: bool
) -> _Entry | None:
    if not path.isascii() and not _is_utf8(path):
        shown = os.fsencode(path).decode(errors="backslashreplace")
        return LeftOut(path=shown, reason="its name is not in UTF-8")
    if is_folder:
        return f"{path}/", levels
    if not root.wants(path):
        return None
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None  # gone since it was listed
    except OSError as error:
        return LeftOut(path=path, reason=_cannot("the file", error))
    if stat.S_ISREG(status.st_mode):
        return Found(path=path, size=status.st_size, modified=status.st_mtime_ns)
    leads = stat.S_ISLNK(status.st_mode)
    return LeftOut(path=path, reason=_where_it_leads(root, entry) if leads else _what_it_is(status.st_mode))


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _levels_in(root: _Root, here: str, levels: tuple[_Level, ...], names: Container[str]) -> tuple[_Level, ...]:
    """The levels for entries of a folder, nearest first. A repository in the root knows no rules from outside of it."""
    if here and _REPOSITORY in names:
        levels = _repository_level(Path(root.place, here), cut=len(here))
    if _IGNORE_FILE in names:
        levels = (*_level(Path(root.place, here, _IGNORE_FILE), cut=len(here)), *levels)
    return levels


def _levels_above(root: Path) -> tuple[_Level, ...]:
    """What the repository that the root stands in says about it, from the root's parent up to where `.git` is."""
    root = Path(os.path.realpath(root))
    levels: tuple[_Level, ...] = ()
    for folder in (root, *root.parents):
        above = "" if folder == root else f"{root.relative_to(folder).as_posix()}/"
        if folder != root:
            levels = (*levels, *_level(folder / _IGNORE_FILE, above=above))
        if (folder / _REPOSITORY).exists():
            return (*levels, *_repository_level(folder, above=above))
    return ()


def _level(file: Path, *, cut: int = 0, above: str = "") -> tuple[_Level, ...]:
    # Git reads no .gitignore through a link either.
    if file.is_symlink() or not file.is_file():
        return ()
    patterns = read_patterns(file)
    return (_Level(patterns=patterns, cut=cut, above=above),) if patterns else ()


def _repository_level(folder: Path, *, cut: int = 0, above: str = "") -> tuple[_Level, ...]:
    exclude = _repository(folder / _REPOSITORY) / "info" / "exclude"
    return _level(exclude, cut=cut, above=above)


def _repository(git: Path) -> Path:
    """Where a repository keeps what it shares: of a submodule or a worktree, `.git` is a file that says so."""
    if git.is_file():
        said = git.read_text(encoding="utf-8", errors="surrogateescape").strip()
        git = git.parent / said.removeprefix("gitdir:").strip()
    shared = git / "commondir"
    return git / shared.read_text(encoding="utf-8", errors="surrogateescape").strip() if shared.is_file() else git


def _where_it_leads(root: _Root, entry: "os.DirEntry[str]") -> str:
    target = os.path.realpath(entry.path)
    if not os.path.exists(target):  # noqa: PTH110 -- true of no loop, where Path.exists raises in older Pythons
        return "a link to nothing"
    if not f"{target}{os.sep}".startswith(root.place.rstrip(os.sep) + os.sep):
        return "a link out of the root, which is not followed"
    if os.path.isdir(target):  # noqa: PTH112 -- as above
        return "a link to a folder, which is not followed"
    return "a link to a file, which is read under its own name"


def _what_it_is(mode: int) -> str:
    kinds = {
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return f"{kinds.get(stat.S_IFMT(mode), 'something')} and not a file"


def _cannot(what: str, error: OSError) -> str:
    return f"{what} cannot be looked at: {(error.strerror or str(error)).lower()}"
