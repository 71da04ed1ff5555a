"""The folders that a project takes its files from: each has a name of its own, and a node that says where it is.

A root that is missing never deletes anything: that takes `forget`. One that is on another machine is not missing. The
same place on two machines is taken for the same folder, as on a disk that they share, unless it is given a
name of its own.
"""

import json
import os
import shlex
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from graph_stores.errors import GraphmillError, Misuse
from graph_stores.model import Node
from graph_stores.protocol import Store
from orchestrator.moves import new_node
from orchestrator.runs.sources import SourceLost
from orchestrator.states import State
from pipelines.files.identity import directory_uuid
from pipelines.files.walk import Rules, check_rules, excluded_root

TOP = "."
# What its runs are over: files:NAME.
KIND = "files"


class RootMissing(SourceLost):
    code = "root_missing"


class RootForgotten(SourceLost):
    code = "root_forgotten"

    @classmethod
    def of(cls, name: str) -> "RootForgotten":
        return cls(f"the project has no root {name} any more", hint="ingest the folder again")


def this_host() -> str:
    """The machine, as it calls itself."""
    return socket.gethostname()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A folder or file to be read, as a person names it. What is not said is as it was when it was read last."""

    path: Path
    name: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    store_content: bool | None = None
    default_excludes: bool | None = None
    allow_secrets: bool | None = None

    @property
    def says_how(self) -> bool:
        """Whether it says how it is read, and not only where it is."""
        flags = (self.store_content, self.default_excludes, self.allow_secrets)
        return bool(self.name or self.include or self.exclude) or any(flag is not None for flag in flags)


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """`host` is the machine on which it was read last; None where that is not known."""

    name: str
    location: Path
    rules: Rules
    host: str | None = field(default_factory=this_host)
    stores_content: bool = False
    """Its files wait in the graph with what is in them, so that any machine can parse them."""
    secrets_checked: bool = True
    """False where files of it may be in the graph that were never checked for secrets."""

    @property
    def is_foreign(self) -> bool:
        """Another machine has it: that something of it is not there says nothing here."""
        return self.host not in (None, this_host())

    @property
    def is_away(self) -> bool:
        return self.is_foreign and not self.exists

    @property
    def is_lost(self) -> bool:
        """It is this machine's, and nothing can be read from it: it is unmounted, moved or deleted."""
        return not self.is_foreign and (not self.exists or self.is_empty)

    @property
    def exists(self) -> bool:
        return exists(self.location)

    @property
    def is_empty(self) -> bool:
        """Whether it is a folder without any file, which is what a disk that is not mounted leaves behind.

        Folders in it, such as a lost+found, do not count, nor does one that cannot be listed.
        """
        try:
            return self.location.is_dir() and not _has_file(self.location)
        except OSError:
            return True

    @property
    def identity(self) -> tuple[int, int] | None:
        """Changes when another folder is put or mounted in its place; None for a file, which editors replace."""
        try:
            status = self.location.stat()
        except OSError:
            return None
        return (status.st_dev, status.st_ino) if self.location.is_dir() else None

    def missing(self, why: str = "missing, moved or not mounted") -> RootMissing:
        return RootMissing(
            f"the folder {self.location} of {self.name} cannot be read: {why}",
            hint=f"bring it back, or if it moved: graphmill ingest NEW-PLACE --as {shlex.quote(self.name)}",
        )

    def place_of(self, path: str) -> Path:
        """Where a file of the root is; a root may be a single file."""
        return self.location if self.location.is_file() else self.location / path

    def node(self, project: str) -> Node:
        return new_node(
            label="Directory",
            uuid=directory_uuid(project, self.name, TOP),
            name=self.name,
            state=State.PARSED,
            properties={
                "root": self.name,
                "path": TOP,
                "location": str(self.location),
                "rules": json.dumps(self._document()),
                "host": self.host,
            },
        )

    def _document(self) -> dict[str, Any]:
        flags = {
            "defaultExcludes": None if self.rules.default_excludes else False,
            "allowSecrets": self.rules.allow_secrets or None,
            "storeContent": self.stores_content or None,
            "secretsChecked": self.secrets_checked or None,
        }
        patterns = {"include": self.rules.include, "exclude": self.rules.exclude}
        return patterns | {name: flag for name, flag in flags.items() if flag is not None}


async def read_roots(store: Store) -> dict[str, Root]:
    """The roots of the project by name."""
    table = await store.ask("roots")
    roots = [_root(*row) for _, *row in table.rows if row[1]]
    return {root.name: root for root in roots}


def refuse_graph_itself(paths: Iterable[Path], own: Path | None) -> None:
    """A graph that is a file, and what lies beside it under its name, is nothing to be read into it."""
    for path in paths:
        place = path.expanduser().resolve()
        parts = [place, *place.parents]
        if own and any(each.parent == own.parent and f"{each.name}.".startswith(f"{own.name}.") for each in parts):
            raise Misuse(f"{path} is the graph itself", hint="name the folder or file that is to be read into it")


def resolve(source: Source, known: Mapping[str, Root]) -> Root:
    """The root that a source is, known or new; refuses what is not there and what would be read twice."""
    check_rules(Rules(include=source.include, exclude=source.exclude))
    if source.name is not None and (not source.name.strip() or "/" in source.name):
        raise Misuse(f"{source.name!r} cannot be the name of a root", hint="give a name without /")
    location = source.path.expanduser().absolute()
    if not exists(location):
        raise _missing(location.resolve(), known)
    location = location.resolve()
    root = replace(_known(location, source, known) or _new(location, source, known), host=this_host())
    rules = root.rules
    if source.include or source.exclude:
        rules = replace(rules, include=source.include, exclude=source.exclude)
    if source.default_excludes is not None:
        rules = replace(rules, default_excludes=source.default_excludes)
    if source.allow_secrets is not None:
        rules = replace(rules, allow_secrets=source.allow_secrets)
    if excluded := excluded_root(location, rules):
        raise Misuse(
            f"{source.path} is left out by default: {excluded.reason}",
            hint=f"to read it: graphmill ingest {shlex.quote(str(source.path))} --no-default-excludes",
        )
    checked = root.secrets_checked and not rules.allow_secrets
    stores = root.stores_content if source.store_content is None else source.store_content
    return replace(root, rules=rules, stores_content=stores, secrets_checked=checked)


def resolve_all(sources: Iterable[Source], known: Mapping[str, Root]) -> dict[str, Root]:
    """The roots of the sources, by name. A folder comes before its parts, which then belong to it."""
    roots: dict[str, Root] = {}
    for source in sorted(sources, key=lambda source: len(source.path.absolute().parts)):
        root = resolve(source, {**known, **roots})
        roots[root.name] = root
    return roots


def _has_file(folder: Path) -> bool:
    """Ends at the first file: a job asks often. A link to a folder is none."""
    folders: list[str] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif not Path(entry.path).is_dir():
                return True
    return any(_has_file(Path(each)) for each in folders)


def exists(location: Path) -> bool:
    try:
        return location.exists()
    except OSError:  # a mount whose server is gone
        return False


def _known(location: Path, source: Source, known: Mapping[str, Root]) -> Root | None:
    for root in known.values():
        if root.is_foreign and source.name not in (None, root.name):
            continue  # it only has the same place, on another machine
        if location == root.location:
            if source.name not in (None, root.name):
                raise Misuse(
                    f"{location} is in the project already, as {root.name}",
                    hint=f"leave --as out, or forget it first: graphmill forget {shlex.quote(root.name)}",
                )
            return root
        # A part of a folder that is read anyway: its files must not get a second name.
        if root.location in location.parents:
            if source.says_how:
                raise Misuse(
                    f"{location} is a part of {root.location}, which is in the project as {root.name}:"
                    " its name and how it is read are those of the whole",
                    hint=f"give them with the whole: graphmill ingest {shlex.quote(str(root.location))}",
                )
            return root
        if location in root.location.parents:
            raise Misuse(
                f"{location} holds {root.location}, which is in the project as {root.name}: its files would be twice",
                hint=f"forget the smaller one first: graphmill forget {shlex.quote(root.name)}",
            )
    if source.name and source.name in known:
        return replace(known[source.name], location=location)  # it was moved, and a person says so
    return None


def _new(location: Path, source: Source, known: Mapping[str, Root]) -> Root:
    """Refuses a folder that may be one of the project's under a new path: all of it would be there twice."""
    namesake = known.get(location.name) if source.name is None else None
    if namesake and not namesake.is_foreign and not namesake.exists:
        again = f"graphmill ingest {shlex.quote(str(source.path))} --as"
        raise Misuse(
            f"the project has {namesake.name} from {namesake.location}, which is gone: is {location} the same folder,"
            " moved?",
            hint=f"if it is: {again} {shlex.quote(namesake.name)}; if it is another one: {again} OTHER-NAME",
        )
    return Root(name=source.name or _free_name(location, known), location=location, rules=Rules())


def _free_name(location: Path, known: Mapping[str, Root]) -> str:
    """The folder's name; where another folder has it, with as many of those above as it takes."""
    names = [part for part in location.parts if part != location.anchor] or ["root"]
    for count in range(1, len(names) + 1):
        name = ".".join(names[-count:])
        if name not in known:
            return name
    raise Misuse(f"every name for {location} is taken", hint="give it one with --as NAME")


def _missing(location: Path, known: Mapping[str, Root]) -> GraphmillError:
    for root in known.values():
        if location == root.location or root.location in location.parents:
            if root.exists:
                break
            if root.is_foreign:
                return RootMissing(
                    f"{root.location}, in the project as {root.name}, is on {root.host} and not on {this_host()}",
                    hint=f"ingest it there; if it moved here: graphmill ingest NEW-PLACE --as {shlex.quote(root.name)}",
                )
            return RootMissing(
                f"{root.location} is gone; what the project has of it, as {root.name}, was left as it is",
                hint=f"if it moved: graphmill ingest NEW-PLACE --as {shlex.quote(root.name)}; to remove it: "
                f"graphmill forget {shlex.quote(root.name)}",
            )
    return Misuse(f"there is no file or folder {location}", hint="check the path")


def _root(name: str, location: str, rules: str | None, host: str | None) -> Root:
    document: Mapping[str, Any] = json.loads(rules or "{}")
    return Root(
        name=name,
        location=Path(location),
        rules=Rules(
            include=tuple(document.get("include", ())),
            exclude=tuple(document.get("exclude", ())),
            default_excludes=document.get("defaultExcludes") is not False,
            allow_secrets=bool(document.get("allowSecrets")),
        ),
        host=host,
        stores_content=bool(document.get("storeContent")),
        secrets_checked=bool(document.get("secretsChecked")),
    )
