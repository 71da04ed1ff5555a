"""Whether a checkpoint would damage lists, and vectors with them.

Kuzu 0.11.3 gives lists to the wrong rows in a checkpoint if a list in the database file was changed since the last one
(measured with FLOAT[8], FLOAT[] and any mix of new rows). Rows that are new since then may change as often as they
like, and what is read before a checkpoint is right. So such changes are noted, and the graph is rebuilt instead.
"""

from collections.abc import Iterable, Mapping

from graph_stores.kuzu.columns import Tables
from graph_stores.model import Batch


class ListChanges:
    def __init__(self, *, matter: bool) -> None:
        self._matter = matter
        self._new: set[str] = set()
        self.in_file = False
        """Whether a list of a row that is in the file was changed since the last checkpoint."""

    def note(self, *, created: Iterable[str] = (), changed: Iterable[str] = ()) -> None:
        if self._matter:
            self._new.update(created)
            self.in_file = self.in_file or not self._new.issuperset(changed)

    def note_unknown(self) -> None:
        """Changes that nothing is known of: a log from an earlier process, a query of a person."""
        self.in_file = self._matter

    def forget(self) -> None:
        """Everything is in the file."""
        self._new.clear()
        self.in_file = False


def with_lists(batch: Batch, tables: Tables) -> list[str]:
    """The nodes of a batch whose lists it sets."""
    nodes = [node.uuid for node in batch.nodes if _sets_list(tables.nodes[node.label], node.properties)]
    updates = [each.node.uuid for each in batch.updates if _sets_list(tables.nodes[each.node.label], each.properties)]
    return [*nodes, *updates, *(vector.node.uuid for vector in batch.vectors)]


def _sets_list(types: Mapping[str, str], properties: Mapping[str, object]) -> bool:
    return any(types.get(name, "").endswith("]") for name in properties)
