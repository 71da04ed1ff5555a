"""What is to be expanded, as it was asked for, and the parts in which all of a wiki is read."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from orchestrator.runs.records import Part, PartitionKind
from orchestrator.wikipedia.wikis import PageSource
from pipelines.wikipedia.model import Span

_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    name: str
    depth: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be expanded. Where nobody named the source, it is the one that the project's only wiki came from."""

    source: PageSource
    is_named: bool = True
    titles: Sequence[str] = ()
    categories: Sequence[Category] = ()
    depth: int = 0
    budget: int | None = None
    whole: bool = False
    keep_stubs: bool = True

    @property
    def kind(self) -> PartitionKind:
        only_categories = self.categories and not self.titles
        return PartitionKind.CATEGORY if only_categories else PartitionKind.TITLES

    @property
    def name(self) -> str:
        """What a person would call it."""
        names = [f"category {each.name}" for each in self.categories] + list(self.titles)
        shown = ", ".join(names[:_MOST_SHOWN]) + ("…" if len(names) > _MOST_SHOWN else "")
        return f"{shown or 'all pages'} to depth {self.depth}"


def part_of(span: Span) -> Part:
    until = "the end" if span.until is None else f"{span.until:,}"
    return Part(kind=PartitionKind.RANGE, key=f"{span.name} from {span.after:,} to {until}", plan=asdict(span))
