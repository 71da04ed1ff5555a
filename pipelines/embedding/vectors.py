"""Rows of float32 numbers: which are vectors that can be compared, what a mean is, and those made lately."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from graph_stores.model import VectorSpace
from pipelines.embedding.errors import EmbedderError, WrongVector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Row = NDArray[np.float32]

# Beyond these a squared length is zero or infinite in single precision.
_SHORTEST, _LONGEST = 1e-37, 1e37


def row(numbers: Sequence[object]) -> "Row":
    """Whatever a server sent; what are no numbers, or too large for single precision, comes out as no vector."""
    import numpy as np

    try:
        with np.errstate(over="ignore"):
            made = np.asarray(numbers, dtype=np.float32)
    except (ValueError, TypeError, OverflowError):
        made = np.empty(0, dtype=np.float32)
    return made if made.ndim == 1 else np.empty(0, dtype=np.float32)


def flaw(row: "Row", dimension: int) -> str | None:
    """What is wrong with a vector, if anything: two vectors are compared by their angle, in single precision."""
    import numpy as np

    if row.shape != (dimension,):
        return f"has {row.size} numbers, expected {dimension}"
    exact = row.astype(np.float64)
    length = float(exact @ exact)
    if not np.isfinite(length):
        return "holds a value that is not a finite number"
    if not _SHORTEST < length < _LONGEST:
        return "is zero, or too short or too long for single precision"
    return None


def checked(row: "Row", space: VectorSpace) -> "Row | EmbedderError":
    """A copy of the row, so that it does not keep its whole batch in memory; or what is wrong with it."""
    found = flaw(row, space.dimension)
    return row.copy() if found is None else WrongVector(f"the vector that {space.model} made of the text {found}")


def mean(rows: "Sequence[Row]") -> "Row | WrongVector":
    """The direction in the middle, as a vector of length 1."""
    import numpy as np

    middle: NDArray[np.float64] = np.mean(np.asarray(rows, dtype=np.float64), axis=0)
    length = float(np.linalg.norm(middle))
    if length < _SHORTEST:
        return WrongVector("the pieces of the text point in opposite directions and have no mean")
    return (middle / length).astype(np.float32)


def to_bytes(row: "Row") -> bytes:
    return row.astype("<f4").tobytes()


def from_bytes(numbers: bytes) -> "Row":
    import numpy as np

    return np.frombuffer(numbers, dtype="<f4").astype(np.float32)


class Recent:
    """The vectors that were used last, up to a number of bytes."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._size = 0
        self._rows: OrderedDict[str, Row] = OrderedDict()

    def get(self, each: str) -> "Row | None":
        row = self._rows.get(each)
        if row is not None:
            self._rows.move_to_end(each)
        return row

    def put(self, each: str, row: "Row") -> None:
        if each not in self._rows:
            self._size += row.nbytes
        self._rows[each] = row
        while self._size > self._largest:
            _, oldest = self._rows.popitem(last=False)
            self._size -= oldest.nbytes
