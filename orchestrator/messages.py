"""What is said of an error, in words that every engine can hold."""

from graph_stores.errors import GraphmillError

_LONGEST_MESSAGE = 2000


def shown(error: Exception) -> str:
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - whatever went wrong, that it did must be recorded
        message = "it cannot be shown"
    return message if isinstance(error, GraphmillError) else f"{type(error).__name__}: {message}".rstrip(": ")


def storable(message: str) -> str:
    """A message that every engine can hold, whatever was in it."""
    clean = message.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode("utf-8")
    return clean if len(clean) <= _LONGEST_MESSAGE else f"{clean[:_LONGEST_MESSAGE]}…"


def first_of(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """What went wrong first; the rest of the group was only told to end."""
    error: BaseException = failures
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
