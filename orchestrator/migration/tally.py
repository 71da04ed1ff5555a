"""What was decided so far: which rule moves how many rows of which label where."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from graph_stores.legacy import Moved
from orchestrator.migration.mapped import MappedRows
from orchestrator.migration.pages import ArticlePage
from orchestrator.states import State


@dataclass(slots=True)
class Tallied:
    counts: Counter[tuple[str, str, str, str | None]] = field(default_factory=Counter)
    examples: dict[tuple[str, str, str, str | None], list[str]] = field(default_factory=dict)

    def count(
        self, rule: str, label: str, to: State, count: int = 1, *, unknown: str | None = None, example: str = ""
    ) -> None:
        if count or example:
            key = (rule, label, to.value, unknown)
            self.counts[key] += count
            if example and len(self.examples.setdefault(key, [])) < 3:
                self.examples[key].append(example)

    def add(self, page: ArticlePage) -> None:
        for article in page.articles:
            unknown = article.word if article.fate.rule == "10-unknown-word" else None
            self.count(article.fate.rule, "Article", article.fate.state, unknown=unknown, example=article.title)
        for state, count in page.states_of_sections().items():
            self.count("s-of-article", "Section", state, count)

    def decided(self, label: str, rows: MappedRows) -> None:
        for each in rows.decided():
            self.count(each.rule, label, each.state, unknown=each.unknown)

    def document(self) -> list[list[Any]]:
        """As it is kept with a page; Any: words and numbers."""
        return [[*key, count, self.examples.get(key, [])] for key, count in self.counts.items()]

    def include(self, document: Sequence[Sequence[Any]]) -> None:
        for rule, label, to, unknown, count, examples in document:
            self.count(rule, label, State(to), count, unknown=unknown)
            for example in examples:
                self.count(rule, label, State(to), 0, unknown=unknown, example=example)

    def moved(self) -> list[Moved]:
        return [
            Moved(
                rule=rule,
                label=label,
                to=to,
                count=count,
                unknown=unknown,
                examples=self.examples.get((rule, label, to, unknown), ()),
            )
            for (rule, label, to, unknown), count in self.counts.items()
        ]
