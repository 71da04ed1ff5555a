"""Turns what an embedded engine raises into graphmill's errors; the only place that reads its messages."""

import errno
import re
from pathlib import Path

from graph_stores.errors import (
    DeadlineExceeded,
    GraphmillError,
    Misuse,
    NotAStore,
    PermanentStoreError,
    QueryFailed,
    QueryTimeout,
    StoreDamaged,
    StoreFull,
    StoreOwned,
    TransientStoreError,
    WriteRefused,
)

# First match wins. The engine has one exception type, so its words are all there is to go by.
TABLE: tuple[tuple[str, type[GraphmillError]], ...] = (
    (r"Interrupted", DeadlineExceeded),
    (r"Could not set lock on file", StoreOwned),
    (r"Cannot write to file|No space left on device|Disk quota exceeded", StoreFull),
    (r"write query inside a read-only transaction|write operations in a read-only database", WriteRefused),
    (
        r"(?i)only one write transaction|write-write conflict|Timeout waiting for active transactions",
        TransientStoreError,
    ),
    (r"[Bb]uffer manager exception|Unable to allocate memory|bad_alloc|Mmap for size", TransientStoreError),
    (r"Cannot open file|Error writing|Error reading|IO exception", TransientStoreError),
    (r"Parser exception|Binder exception|Catalog exception|Conversion exception|Overflow exception", QueryFailed),
    (r"do not support prepare multiple statements", QueryFailed),
    (r"Found duplicated primary key|Runtime exception|Not implemented|Function exception", PermanentStoreError),
)


def translate(error: Exception, doing: str) -> GraphmillError:
    """The error of ours for one the engine raised during ordinary work; what is unknown may pass."""
    message = str(error).strip()
    if isinstance(error, UnicodeError):
        return Misuse(f"{doing}: a text holds half a character, which cannot be stored ({message})")
    if isinstance(error, OSError):
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        return _full(doing, str(error.filename or "")) if full else TransientStoreError(f"{doing}: {message}")
    for pattern, kind in TABLE:
        if re.search(pattern, message):
            written = re.search(r"path: (.+?) fileDescriptor", message)
            return _full(doing, written[1] if written else "") if kind is StoreFull else kind(f"{doing}: {message}")
    return TransientStoreError(f"{doing}: {message or type(error).__name__}")


def _full(doing: str, file: str) -> StoreFull:
    return StoreFull(
        f"{doing}: there is no room on the disk" + (f" for {file}" if file else ""),
        hint="free some space and run the command again; what was committed before is safe",
    )


def translate_query(error: Exception, timeout: float) -> GraphmillError:
    """The error of ours for one that a person's own query caused."""
    translated = translate(error, "the query failed")
    message = re.sub(r"^(Parser|Binder|Catalog|Conversion|Runtime) exception: ", "", str(error).strip())
    if isinstance(translated, DeadlineExceeded):
        return QueryTimeout(
            f"the query ran longer than {timeout:g} seconds and was stopped", hint="give it more time with --timeout"
        )
    if isinstance(translated, WriteRefused):
        return WriteRefused(
            "the query writes, and queries are read-only", hint="add --write to let it change the graph"
        )
    if "prepare multiple statements" in message:
        return QueryFailed("the text holds more than one statement", hint="run them one at a time")
    if isinstance(translated, QueryFailed):
        position = re.search(r"\(line: (\d+), offset: (\d+)\)", message)
        where = f"line {position.group(1)}, column {int(position.group(2)) + 1}: " if position else ""
        return QueryFailed(f"{where}{_without_position(message)}")
    return translated


def translate_open(error: Exception, path: Path, engine: str) -> GraphmillError:
    """The error of ours for a file that the engine cannot open."""
    message = str(error).strip()
    if "Could not set lock on file" in message:
        return StoreOwned(f"{path} is in use by a process that is not graphmill", hint="end that process first")
    if re.search(r"not a valid \w+ database|Unable to open database|different version|storage version", message):
        return NotAStore(
            f"{path} is not a {engine} database: {message}", hint="check the path and the scheme of --store"
        )
    translated = translate(error, f"cannot open {path}")
    if isinstance(translated, StoreFull | TransientStoreError) and not isinstance(error, IndexError):
        return translated
    return StoreDamaged(f"{path} cannot be opened: {message}", hint="restore the file from a backup")


def _without_position(message: str) -> str:
    return re.sub(r"\s*\(line: \d+, offset: \d+\)", "", message)
