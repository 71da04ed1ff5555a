"""Which of a node's records is the latest, whoever wrote them and in whatever order they are read.

By the store's time; within one moment by what follows from what.
"""

from collections.abc import Callable

import msgspec

from orchestrator.ledger.lines import Record
from orchestrator.ledger.record import time_of


class Latest(msgspec.Struct, omit_defaults=True, gc=False):
    """Where a node stands. Without a state it was removed, which is remembered for a while."""

    node: str
    label: str
    at: str
    state: str | None = None
    by: str = ""
    imported: bool = False

    @property
    def uuid(self) -> str:
        return self.node

    @property
    def time(self) -> int:
        """Microseconds since the epoch, by the store's clock."""
        return time_of(self.at)


class Standing(msgspec.Struct, gc=False):
    """The latest so far; `origin` is the state before the first of its records that share its time."""

    latest: Latest
    origin: str | None

    def take(self, record: Record) -> None:
        latest = self.latest
        if record.at > latest.at:
            self.latest, self.origin = latest_of(record), record.before
        elif record.at == latest.at:
            if record.before == latest.state:
                self.latest = latest_of(record)
            elif record.after == self.origin:
                self.origin = record.before

    def on(self, earlier: Latest) -> Latest:
        """What stands when `earlier` is known as well."""
        if self.latest.at == earlier.at:
            return self.latest if self.origin == earlier.state else earlier
        return max(self.latest, earlier, key=lambda each: each.at)


def latest_of(record: Record) -> Latest:
    return Latest(record.node, record.label, record.at, record.after, record.by, record.imported)


encode_latest: Callable[[Latest], bytes] = msgspec.json.Encoder().encode
decode_latest: Callable[[bytes], Latest] = msgspec.json.Decoder(Latest).decode


class _Key(msgspec.Struct, gc=False):
    node: str


_decode_key = msgspec.json.Decoder(_Key).decode


def node_of(line: bytes) -> str:
    return _decode_key(line).node
