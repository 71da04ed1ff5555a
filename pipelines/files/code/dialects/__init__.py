"""What differs from language to language: how files are named and imported, and how a class speaks of itself.

One module for each, with one `Dialect`. What scopes are is said in `queries/`.
"""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pipelines.files.code.names import Binding
from pipelines.files.code.syntax import Syntax, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from pipelines.files.code.scopes import Scope, Scopes


@dataclass(slots=True, kw_only=True)
class Place:
    """Where a file is, and what it says of itself: its package, what it opens itself to, what it gives by default."""

    path: str
    source: bytes
    package: str = ""
    open_to: tuple[str, ...] = ()
    defaults: frozenset[int] = frozenset()

    @property
    def folder(self) -> tuple[str, ...]:
        return tuple(self.path.split("/")[:-1])

    @property
    def file_name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def stem(self) -> str:
        return self.file_name.rpartition(".")[0] or self.file_name

    def text(self, node: "Node | None") -> str:
        return text_of(node, self.source) if node is not None else ""


class Dialect:
    """The defaults say: files have no other names, nothing is imported, and names are known where they are defined."""

    own: ClassVar[frozenset[str]] = frozenset({"this"})
    inherited: ClassVar[frozenset[str]] = frozenset({"super"})
    # Whether a method knows the names in its class without saying whose they are.
    members_in_scope: ClassVar[bool] = False
    # Functions that come with the language.
    built_in: ClassVar[frozenset[str]] = frozenset()
    # Whether there are functions outside classes.
    has_functions: ClassVar[bool] = True
    # The kinds of scopes that go on in other files.
    shared: ClassVar[frozenset[str]] = frozenset()
    # Whether the comment before a definition is its documentation.
    comments_document: ClassVar[bool] = True
    # Files that stand for their folder.
    folder_files: ClassVar[frozenset[str]] = frozenset()

    def module_name(self, place: Place) -> str:
        """What the code outside any scope is called: by the file, or by its folder where every file is called so."""
        return place.folder[-1] if place.stem in self.folder_files and place.folder else place.stem

    def look_around(self, place: Place, syntax: Syntax) -> None:
        """Learns what the file says of itself before its imports are read."""

    def aliases(self, place: Place, scopes: "Scopes") -> tuple[str, ...]:
        return ()

    def bindings(self, statement: "Node", scope: "Scope", place: Place) -> Iterator[Binding]:
        return iter(())

    def elsewhere(self, path: tuple[str, ...], scope: "Scope", place: Place) -> tuple[str, ...]:
        """What a name may mean that the file does not define."""
        return ()

    def member_elsewhere(self, name: str, scope: "Scope", place: Place) -> tuple[str, ...]:
        """What a member (by its class and name) may mean that its class does not have in this file."""
        return ()

    def extra_names(self, scope: "Scope", place: Place) -> tuple[str, ...]:
        """Further names that other files know a scope by."""
        return ()

    def forwards(self, place: Place, syntax: Syntax, scopes: "Scopes") -> dict[str, tuple[str, ...]]:
        """What the file passes on beside its imports."""
        return {}


_MODULES = {"typescript": "javascript", "tsx": "javascript", "cpp": "c"}


def dialect_of(language: str) -> Dialect:
    module = importlib.import_module(f"{__name__}.{_MODULES.get(language, language)}")
    dialect: Dialect = module.DIALECT
    return dialect
