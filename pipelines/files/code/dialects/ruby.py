"""Ruby: constants are known everywhere once their file is loaded, so a file is named by those it defines.

`ruby:Store` is a file that says something of the constant Store, of which there may be many. Methods outside any class
are known to the files that require theirs, by `require:/lib/store`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipelines.files.code.dialects import Dialect, Place
from pipelines.files.code.names import EVERYTHING, Binding, Target, beside, suffixes

if TYPE_CHECKING:
    from tree_sitter import Node

    from pipelines.files.code.scopes import Scope, Scopes
    from pipelines.files.code.syntax import Syntax


_BUILT_IN = frozenset(
    [
        *("require", "require_relative", "load", "autoload", "include", "extend", "prepend", "raise", "fail", "loop"),
        *("attr_reader", "attr_writer", "attr_accessor", "private", "public", "protected", "module_function", "new"),
        *("puts", "print", "p", "pp", "format", "sprintf", "printf", "lambda", "proc", "catch", "throw", "freeze"),
        *("block_given?", "binding", "caller", "exit", "abort", "at_exit", "sleep", "rand", "srand", "gets", "warn"),
        *("define_method", "alias_method", "private_constant", "private_class_method", "class_eval", "instance_eval"),
        *("send", "respond_to?", "is_a?", "tap", "dup", "clone", "Integer", "Float", "String", "Array", "Hash"),
    ]
)


class Ruby(Dialect):
    own = frozenset({"self"})
    built_in = _BUILT_IN
    inherited = frozenset()
    members_in_scope = True
    shared = frozenset({"module", "class"})

    def look_around(self, place: Place, syntax: "Syntax") -> None:
        place.open_to = tuple(place.text(node) for node in syntax.imports)

    def aliases(self, place: Place, scopes: "Scopes") -> tuple[str, ...]:
        path = (*place.folder, place.stem)
        loaded = [each for step, each in zip(path, suffixes(path[1:]), strict=False) if step == "lib"]
        constants = dict.fromkeys(scope.qualified.partition(".")[0] for scope in scopes.inner if scope.is_class)
        return (
            f"require:/{'/'.join(path)}",
            *(f"require:{'/'.join(each)}" for each in loaded),
            *(f"ruby:{name}" for name in constants),
        )

    def bindings(self, statement: "Node", scope: "Scope", place: Place) -> Iterator[Binding]:
        arguments = statement.child_by_field_name("arguments")
        written = place.text(arguments.named_children[0] if arguments is not None else None).strip("'\"")
        written = written.removesuffix(".rb")
        if place.text(statement.child_by_field_name("method")) == "require":
            yield Binding(local=EVERYTHING, targets=(Target(f"require:{written}"),), exported=True)
        elif here := beside(place.folder, written):
            yield Binding(local=EVERYTHING, targets=(Target(f"require:/{'/'.join(here)}"),), exported=True)

    def member_elsewhere(self, name: str, scope: "Scope", place: Place) -> tuple[str, ...]:
        """In another file that opens the same class."""
        return (f"ruby:{name.partition('.')[0]}#{name}",)

    def elsewhere(self, path: tuple[str, ...], scope: "Scope", place: Place) -> tuple[str, ...]:
        if not path[0][:1].isupper():
            return (f"#{path[0]}",) if place.open_to and len(path) == 1 and path[0] not in self.built_in else ()
        spaces = [step for step in scope.space if step[:1].isupper()]
        full = [(*spaces[:length], *path) for length in range(len(spaces), -1, -1)]
        wants = [Target(f"ruby:{each[0]}", each).want() for each in full]
        if len(path) > 1:
            wants += [Target(f"ruby:{each[0]}", each[:-1]).want() for each in full]
        return tuple(wants)


DIALECT = Ruby()
