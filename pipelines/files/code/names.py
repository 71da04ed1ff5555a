"""Names as code writes them, and what of another file an import makes them mean."""

from collections.abc import Iterator
from dataclasses import dataclass

# What a file calls its code outside any scope, so that an import of a whole module has something to point at.
MODULE = "<module>"
EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Target:
    """A file by an alias, and the path of a name in it: nothing for the file as a whole."""

    alias: str
    member: tuple[str, ...] = ()

    def want(self, rest: tuple[str, ...] = ()) -> str:
        return f"{self.alias}#{'.'.join(self.member + rest) or MODULE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A local name (dotted, EVERYTHING, or nothing for a bare import) and what it may stand for, best first.

    `used` says that the import itself is a use of what it imports.
    """

    local: str
    targets: tuple[Target, ...]
    exported: bool = False
    used: bool = True


def wants_of_use(targets: tuple[Target, ...], rest: tuple[str, ...]) -> tuple[str, ...]:
    """What an imported name may mean, with what is written after it.

    Where it leads no farther it means the name alone: a class, say, of whose method nothing is known. Nobody calls a
    whole file.
    """
    wants = [target.want(rest[:length]) for length in range(min(len(rest), 2), 0, -1) for target in targets] + [
        target.want() for target in targets if target.member
    ]
    return tuple(dict.fromkeys(wants))


def wants_of_import(targets: tuple[Target, ...]) -> tuple[str, ...]:
    """As those of the names it imports; of the whole file, where it imports something that is no scope."""
    return tuple(
        dict.fromkeys([*(target.want() for target in targets), *(Target(each.alias).want() for each in targets)])
    )


def suffixes(path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The path without its first folders, the longest first."""
    return (path[start:] for start in range(len(path)))


def beside(folder: tuple[str, ...], written: str) -> tuple[str, ...] | None:
    """A path as written in a file of a folder, from the root on. None where it leads out of the root."""
    place = list(folder)
    for step in written.split("/"):
        if step == "..":
            if not place:
                return None
            place.pop()
        elif step not in ("", "."):
            place.append(step)
    return tuple(place)
