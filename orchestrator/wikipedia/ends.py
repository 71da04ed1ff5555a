"""Where titles lead to, through the redirects that the graph knows."""

from collections.abc import Iterable, Sequence

from graph_stores.model import Value
from graph_stores.protocol import Store
from orchestrator.wikipedia.titles import Standing, standing_of
from pipelines.wikipedia.identity import article_uuid


class Ends:
    """Some titles, and whatever they lead to or through, as far as they are in the graph."""

    def __init__(self) -> None:
        self._rows: dict[str, Sequence[Value]] = {}

    @classmethod
    async def of(cls, store: Store, wiki: str, titles: Iterable[str]) -> "Ends":
        ends = cls()
        asked: set[str] = set()
        wanted = set(titles)
        while wanted:
            asked |= wanted
            uuids = {article_uuid(store.project, wiki, title): title for title in sorted(wanted)}
            rows = (await store.ask("articles", {"uuids": list(uuids)})).rows
            ends._rows |= {uuids[row[0]]: row for row in rows}
            wanted = {row[3] for row in rows if row[3]} - asked
        return ends

    def __contains__(self, title: str) -> bool:
        """Whether it is in the graph."""
        return title in self._rows

    def way(self, title: str) -> list[str]:
        """The title and those that it leads through, the end last; of a circle, once round."""
        way = [title]
        while (following := self._target(way[-1])) is not None and following not in way:
            way.append(following)
        return way

    def end_of(self, title: str) -> str:
        """The title itself where it is no redirect, or one that leads in a circle."""
        end = self.way(title)[-1]
        return title if self._target(end) is not None else end

    def standing_of(self, title: str) -> Standing:
        """What there is at its end."""
        end = self.way(title)[-1]
        if self._target(end) is not None:
            return Standing.NOTHING
        row = self._rows.get(end)
        return standing_of(row[1], row[2], row[4]) if row else Standing.UNKNOWN

    def _target(self, title: str) -> str | None:
        row = self._rows.get(title)
        return row[3] or None if row else None
