"""The lines of the ledger's files: what they hold as types, and the checksum that each ends with.

A line begins with the key that tells its kind (`ledger`, `seq`, `end`) and ends with `crc`: the CRC-32 of all bytes
before `,"crc"`, in hexadecimal.
"""

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from zlib import crc32

import msgspec

from orchestrator.ledger.record import MICRO, Entry, second_text

FORMAT = 1
_WIDEST = 1 << 63
_SEAL = len(',"crc":"00000000"}')
RECORD = b'{"seq":'
END = b'{"end":'
RECONCILED = b'"reconciled":true'
"""In no line but that of a reconciled record: within a text the quotes would be escaped."""


class Record(msgspec.Struct, omit_defaults=True):
    """A state change as it is written; times of one ledger compare as texts."""

    seq: int
    at: str
    node: str
    label: str
    before: str | None = msgspec.field(default=None, name="from")
    after: str | None = msgspec.field(default=None, name="to")
    via: tuple[str, ...] = ()
    by: str = ""
    run: str | None = None
    tries: int | None = msgspec.field(default=None, name="try")
    seconds: float | None = None
    error_type: str | None = msgspec.field(default=None, name="errorType")
    error: str | None = None
    reconciled: bool = False
    imported: bool = False
    was: str | None = None
    more: dict[str, object] | None = None

    def document(self) -> dict[str, object]:
        """As in the file, without the order within its writer."""
        built = msgspec.to_builtins(self)
        assert isinstance(built, dict)
        return {key: value for key, value in built.items() if key != "seq"}


class Header(msgspec.Struct, omit_defaults=True):
    """The first line of every file: its format and what it is."""

    ledger: int
    kind: str
    name: str
    writer: str = ""
    began: str = ""
    replaces: list[str] = []
    hides: list[str] = []
    imports: list[str] = []
    dropped_before: str = msgspec.field(default="", name="droppedBefore")
    covers: dict[str, tuple[int, bool]] = {}


class End(msgspec.Struct, omit_defaults=True):
    """The last line of a file that nothing is added to any more; `lost` when its writer did not write it."""

    end: str
    records: int = 0
    reconciled: int | None = None
    dropped: int = 0
    content: int = 0
    checksum: str = ""
    newest: str = ""


# In the order of the record's fields; one call for all of them.
_told = attrgetter(*Record.__struct_fields__[2:])
_encode = msgspec.json.Encoder().encode
_encode_lines = msgspec.json.Encoder().encode_lines
decode_record: Callable[[bytes], Record] = msgspec.json.Decoder(Record).decode
_decode_header: Callable[[bytes], Header] = msgspec.json.Decoder(Header).decode
_decode_end: Callable[[bytes], End] = msgspec.json.Decoder(End).decode


def encoded(entries: Iterable[Entry], first: int) -> bytes:
    """The lines of the entries, numbered from `first` on."""
    records = list(_records(entries, first))
    try:
        bodies = _encode_lines(records).split(b"\n")[:-1]
    except (UnicodeEncodeError, OverflowError):
        bodies = [_encode_odd(record) for record in records]
    return b"".join([_sealed(body) for body in bodies])


def _records(entries: Iterable[Entry], first: int) -> Iterator[Record]:
    # Most changes share their second with the one before, and finding its text is half of what a time costs.
    known, text = -1, ""
    for seq, entry in enumerate(entries, first):
        second = entry.at // MICRO
        if second != known:
            known, text = second, second_text(second)
        yield Record(
            seq,
            f"{text}.{entry.at - second * MICRO:06d}Z",
            *entry[1:15],
            dict(entry.more) if entry.more else None,
        )


def _encode_odd(record: Record) -> bytes:
    try:
        return _encode(record)
    except (UnicodeEncodeError, OverflowError):
        return _encode(_speakable(record))


def line_of(mark: Header | End) -> bytes:
    return _sealed(_encode(mark))


def header_of(line: bytes) -> Header | None:
    """The header, or None where the line is none or is not whole."""
    try:
        return _decode_header(line) if line.startswith(b'{"ledger":') and is_whole(line) else None
    except msgspec.MsgspecError:
        return None


def end_of(line: bytes) -> End | None:
    try:
        return _decode_end(line) if line.startswith(END) and is_whole(line) else None
    except msgspec.MsgspecError:
        return None


def is_whole(line: bytes) -> bool:
    """Whether the checksum at the end of a line (without its newline) is that of the line."""
    return line[-10:] == b'%08x"}' % crc32(line[:-_SEAL])


def at_of(line: bytes) -> bytes:
    """The time of a record, without decoding it: its second key."""
    start = line.index(b'"at":"', len(RECORD)) + 6
    return line[start : start + 27]


def seq_of(line: bytes) -> int:
    return int(line[len(RECORD) : line.index(b",", len(RECORD))])


def _sealed(body: bytes) -> bytes:
    open_body = body[:-1]
    return b'%b,"crc":"%08x"}\n' % (open_body, crc32(open_body))


def _speakable(record: Record) -> Record:
    """Half of a surrogate pair, as in the name of an odd file, has no UTF-8: it is written as its number."""
    values = {name: getattr(record, name) for name in record.__struct_fields__}
    return msgspec.structs.replace(record, **{name: _spoken(value) for name, value in values.items()})


def _spoken(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {str(_spoken(key)): _spoken(each) for key, each in value.items()}
        case list():
            return [_spoken(each) for each in value]
        case tuple():
            return tuple(_spoken(each) for each in value)
        case int() if abs(value) >= _WIDEST:
            return str(value)
        case _:
            return value
