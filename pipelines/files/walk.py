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
from pipelines.files.default_excludes import (
    MARKERS,
    DefaultExclude,
    rule_for_content,
    rule_for_file,
    rule_for_folder,
    rule_for_secret,
    rule_for_secret_folder,
)
from pipelines.files.ignoring import Patterns, read_patterns, unreadable

_HISTORY = frozenset({".git", ".hg", ".svn", ".bzr", ".jj"})
_IGNORE_FILE = ".gitignore"
_REPOSITORY = ".git"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Patterns as in a .gitignore, from the root. With any to include, only files that they match are read.

    To include is no way around a .gitignore or the default excludes: what they leave out is read only as a root of its
    own.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    default_excludes: bool = True
    allow_secrets: bool = False
    """Whether files that hold a secret are read; see `pipelines.files.secrets`."""


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
class Excluded:
    """A file, or a folder with all that is in it, that a rule leaves out. It is not looked into."""

    path: str
    reason: str
    folder: bool = False
    by_default: bool = False

    @property
    def shown(self) -> str:
        return f"{self.path}/" if self.folder else self.path

    def has(self, path: str) -> bool:
        return path == self.path or (self.folder and path.startswith(f"{self.path}/"))


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
    """Patterns, the file that has them, and how a path from the root is said from the folder that they stand in."""

    patterns: Patterns
    file: str
    cut: int = 0
    above: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Root:
    """A root with all that is the same for every folder in it. A store in it is no file of it."""

    place: str
    exclude: Patterns
    include: GitIgnoreSpec | None
    own: str | None
    defaults: bool
    above: str = ""
    """Its last two folders: some names are those of a secret only in a certain folder, which may be the root."""
    secret: DefaultExclude | None = None
    """The root is in a folder of secrets."""
    explains: bool = False
    """Whether everything that a rule leaves out is told, and not only the default excludes."""
    stretch: Stretch = WHOLE

    def exclusion(
        self, path: str, name: str, levels: Sequence[_Level], names: Container[str], *, is_folder: bool
    ) -> Excluded | None:
        """The rule that leaves an entry out, if any; `names` are those in its folder."""
        if name in _HISTORY:
            return Excluded(path=path, reason="version control", folder=is_folder)
        if self.own and path.startswith(self.own) and path[len(self.own) :][:1] in ("", "."):
            return Excluded(path=path, reason="the graph itself", folder=is_folder)
        if self.exclude and self.exclude.verdict(path, name, is_folder=is_folder):
            return Excluded(path=path, reason="--exclude", folder=is_folder)
        for level in levels:
            verdict = level.patterns.verdict(level.above + path[level.cut :], name, is_folder=is_folder)
            if verdict:
                return Excluded(path=path, reason=f"ignored by {level.file}", folder=is_folder)
            if verdict is not None:
                break
        if not self.defaults:
            return None
        whole = self.above + path
        rule = self.secret or (rule_for_folder(name, whole, names) if is_folder else rule_for_file(name, whole))
        return Excluded(path=path, reason=str(rule), folder=is_folder, by_default=True) if rule else None

    def wants(self, path: str) -> bool:
        return self.include is None or self.include.match_file(path)


def check_rules(rules: Rules) -> None:
    """Raise Misuse for a pattern that can match nothing, which is surely not what was meant."""
    for pattern in unreadable([*rules.include, *rules.exclude]):
        raise Misuse(
            f"the pattern {pattern!r} matches nothing, expected one as in a .gitignore",
            hint="write for example '*.log', 'build/' or '/docs/**/*.md'",
        )


Entry = Found | LeftOut | Excluded


def walk(
    root: Path, rules: Rules, own: Path | None = None, *, stretch: Stretch = WHOLE, explain: bool = False
) -> Iterator[Entry]:
    """Every file of a root, sorted folder by folder. `own` is where a store is, which is no file and left out.

    A root that is a file is that file, unless it is taken for a secret. One that is not there is left out as a
    folder: its files are not seen as gone. What the default excludes leave out is told; with `explain` also what any
    other rule does.
    """
    try:
        status = root.stat()
    except OSError as error:
        yield LeftOut(path="", reason=_cannot("the root", error), folder=True)
        return
    if stat.S_ISDIR(status.st_mode):
        whole = replace(_root(root, rules, own), stretch=stretch, explains=explain)
        yield from _walk_folders(whole, _levels_above(root))
    elif excluded := excluded_root(root, rules):
        yield excluded
    elif stat.S_ISREG(status.st_mode):
        yield Found(path=root.name, size=status.st_size, modified=status.st_mtime_ns)
    else:
        yield LeftOut(path=root.name, reason=_what_it_is(status.st_mode))


def excluded_root(root: Path, rules: Rules) -> Excluded | None:
    """A root is read whatever its name, unless that is the name of a secret, or it is in a folder of secrets."""
    if not rules.default_excludes or not root.exists():
        return None
    is_folder, place = root.is_dir(), Path(os.path.realpath(root))
    rule_for = rule_for_secret_folder if is_folder else rule_for_secret
    rule = rule_for(root) or rule_for(place)
    return Excluded(path=root.name, reason=str(rule), folder=is_folder, by_default=True) if rule else None


def entries_in(root: Path, rules: Rules, *, most: int) -> int:
    """How many files and folders there are in a root, but for those that the default excludes leave out by name.

    As soon as there are so many, that many.
    """
    count, waiting = 0, [os.fspath(root)]
    while waiting and count < most:
        with suppress(OSError), os.scandir(waiting.pop()) as listed:
            for entry in islice(listed, most - count):
                count += 1
                if entry.is_dir(follow_symlinks=False) and not (
                    entry.name in _HISTORY or (rules.default_excludes and rule_for_folder(entry.name, entry.path, ()))
                ):
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
        return path == root.name and not excluded_root(root, rules)
    whole, here, levels = _root(root, rules, own), "", _levels_above(root)
    *folders, name = path.split("/")
    try:
        for folder in folders:
            names = _Names(root / here)
            levels = _levels_in(whole, here, levels, names)
            if whole.exclusion(here + folder, folder, levels, names, is_folder=True):
                return False
            here += f"{folder}/"
            if (root / here).is_symlink():
                return False
            # A marker that comes or goes matters to all files beside it.
            is_marker = here + name == path and name in MARKERS
            if whole.defaults and not is_marker and rule_for_content(_Names(root / here)):
                return False
        names = _Names(root / here)
        levels = _levels_in(whole, here, levels, names)
        is_folder = (root / path).is_dir() and not (root / path).is_symlink()
        if whole.exclusion(path, name, levels, names, is_folder=is_folder):
            return False
    except OSError:
        return False
    return is_folder or whole.wants(path)


class _Names(Container[str]):
    """The names in a folder, for those who ask about a few of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __contains__(self, name: object) -> bool:
        return (self._folder / str(name)).exists()


def _root(root: Path, rules: Rules, own: Path | None) -> _Root:
    place = os.path.realpath(root)
    store = os.path.relpath(os.path.realpath(own), place) if own else None
    return _Root(
        place=place,
        exclude=Patterns(rules.exclude),
        include=GitIgnoreSpec.from_lines(rules.include) if rules.include else None,
        own=store.replace(os.sep, "/") if store else None,
        defaults=rules.default_excludes,
        above="".join(f"{folder}/" for folder in Path(place).parts[1:][-2:]),
        secret=rule_for_secret_folder(Path(place)),
    )


def _walk_folders(root: _Root, above: tuple[_Level, ...]) -> Iterator[Entry]:
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
_Seen = Entry | _Folder


def _look_into(root: _Root, here: str, levels: tuple[_Level, ...]) -> list[_Seen]:
    """What is in one folder: files, what is left out, and folders that are to be looked into in turn."""
    try:
        with os.scandir(f"{root.place}{os.sep}{here}") as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
        names = {entry.name for entry in entries}
        levels = _levels_in(root, here, levels, names)
    except (FileNotFoundError, NotADirectoryError) as error:
        # A folder that is gone since it was listed is gone, but nothing is known of a root that is.
        return [] if here else [LeftOut(path="", reason=_cannot("the root", error), folder=True)]
    except OSError as error:
        return [LeftOut(path=here.rstrip("/"), reason=_cannot("the folder", error), folder=True)]
    if here and root.defaults and not names.isdisjoint(MARKERS):
        return [Excluded(path=here.rstrip("/"), reason=str(rule_for_content(names)), folder=True, by_default=True)]
    seen: list[_Seen] = []
    for entry in entries:
        path = here + entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if not here and not root.stretch.has(f"{path}/" if is_folder else path):
            continue
        if excluded := root.exclusion(path, entry.name, levels, names, is_folder=is_folder):
            if root.explains or excluded.by_default:
                seen.append(excluded)
        elif found := _seen(root, entry, path, levels, is_folder=is_folder):
            seen.append(found)
    return seen


def _seen(
    root: _Root, entry: "os.DirEntry[str]", path: str, levels: tuple[_Level, ...], *, is_folder: bool
) -> _Seen | None:
    if not path.isascii() and not _is_utf8(path):
        shown = os.fsencode(path).decode(errors="backslashreplace")
        return LeftOut(path=shown, reason="its name is not in UTF-8")
    if is_folder:
        return f"{path}/", levels
    if not root.wants(path):
        return Excluded(path=path, reason="not matched by --include") if root.explains else None
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
        file = f"{here}{_IGNORE_FILE}"
        levels = (*_level(Path(root.place, file), file, cut=len(here)), *levels)
    return levels


def _levels_above(root: Path) -> tuple[_Level, ...]:
    """What the repository that the root stands in says about it, from the root's parent up to where `.git` is."""
    root = Path(os.path.realpath(root))
    levels: tuple[_Level, ...] = ()
    for folder in (root, *root.parents):
        above = "" if folder == root else f"{root.relative_to(folder).as_posix()}/"
        if folder != root:
            levels = (*levels, *_level(folder / _IGNORE_FILE, str(folder / _IGNORE_FILE), above=above))
        if (folder / _REPOSITORY).exists():
            return (*levels, *_repository_level(folder, above=above))
    return ()


def _level(file: Path, shown: str, *, cut: int = 0, above: str = "") -> tuple[_Level, ...]:
    # Git reads no .gitignore through a link either.
    if file.is_symlink() or not file.is_file():
        return ()
    patterns = read_patterns(file)
    return (_Level(patterns=patterns, file=shown, cut=cut, above=above),) if patterns else ()


def _repository_level(folder: Path, *, cut: int = 0, above: str = "") -> tuple[_Level, ...]:
    exclude = _repository(folder / _REPOSITORY) / "info" / "exclude"
    return _level(exclude, ".git/info/exclude", cut=cut, above=above)


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
