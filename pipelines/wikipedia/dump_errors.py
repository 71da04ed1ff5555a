"""What can be wrong with a dump: each error names the file, the place in it, what that means and what to do."""

from pathlib import Path

from graph_stores.errors import GraphmillError, Misuse

_FETCH = "download it again, and compare its size and checksum with those that the site lists"


class DumpDamaged(GraphmillError):
    """What is in the file cannot be right: going on would lose pages silently."""

    code = "dump_damaged"


class DumpTruncated(DumpDamaged):
    """The file ends before the dump does."""

    code = "dump_truncated"


class NotADump(Misuse):
    code = "not_a_dump"


class DumpUnreadable(GraphmillError):
    code = "dump_unreadable"


class IndexWrong(Exception):
    """The index that came with the dump does not fit it. Never leaves this package: another one is made."""


def truncated(path: Path, at: int, what: str) -> DumpTruncated:
    return DumpTruncated(f"{path} ends too early, at byte {at:,}: {what}", hint=_FETCH)


def damaged(path: Path, at: int, what: str) -> DumpDamaged:
    return DumpDamaged(f"{path} is damaged at byte {at:,}: {what}", hint=_FETCH)


def not_a_dump(path: Path, what: str) -> NotADump:
    return NotADump(
        f"{path} is not a dump of MediaWiki: {what}",
        hint="give a pages-articles file as .xml or .xml.bz2, for example from https://dumps.wikimedia.org",
    )


def unreadable(path: Path, error: Exception) -> DumpUnreadable:
    return DumpUnreadable(
        f"{path} cannot be read: {getattr(error, 'strerror', None) or error}",
        hint="check that it is there, and its permissions",
    )
