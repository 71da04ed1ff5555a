"""From bytes to text and from text to lines, the same for every format.

Refuses what is no text: a file is binary if it holds a zero, or too many of the characters that no text has.
"""

import codecs
import re
from collections.abc import Sequence

from pipelines.files.model import CannotRead

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What is guessed among: with all of its hundred encodings, a short text is as often taken for a curious one.
_LIKELY = (
    *("cp1252", "cp1251", "cp1250", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256", "mac_roman"),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949"),
)
_GUESSED_FROM = 16 * 2**10
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\v\f\r\x1b\b"))
_CONTROLS_IN_TEXT = 0.02
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")


def decode(data: bytes) -> str:
    """The text of a file, in whichever encoding it is; its byte order mark is not part of it."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _without_zeros(_strictly(data[len(mark) :], encoding))
    if b"\0" in data:
        return _without_zeros(_strictly(data, _wide_encoding(data)))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return _guessed(data)
    if _mostly_controls(data):
        raise CannotRead("binary: it holds too many control characters to be a text")
    return text


def lines_of(text: str) -> list[str]:
    """The lines with their ends, which are LF, CRLF or CR alone, and nothing else that Unicode would break at."""
    return _LINE.findall(text)


def storable(text: str) -> str:
    """A text from inside a format that can spell what no text holds: zeros and halves of characters."""
    return text.replace("\0", "�").encode("utf-8", errors="replace").decode()


def _strictly(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise CannotRead(f"binary: it looked like {encoding}, and is not at byte {error.start}") from error


def _without_zeros(text: str) -> str:
    if "\0" in text:
        raise CannotRead("binary: it holds zeros")
    return text


def _wide_encoding(data: bytes) -> str:
    """Text in Latin letters has a zero in every second byte if it is in UTF-16."""
    sample = data[:4096]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if len(data) % 2 or max(even, odd) * 3 < len(sample) or min(even, odd) * 20 > len(sample):
        raise CannotRead("binary: it holds zeros")
    return "utf-16-le" if odd > even else "utf-16-be"


def _mostly_controls(data: bytes) -> bool:
    sample = data[: 2**16]
    return len(sample) - len(sample.translate(None, _CONTROLS)) > len(sample) * _CONTROLS_IN_TEXT


def _guessed(data: bytes) -> str:
    if _mostly_controls(data):
        raise CannotRead("binary: it is in no encoding and holds too many control characters to be a text")
    mended = data.decode("utf-8", errors="replace")
    wrong = mended.count("�")
    if wrong * 20 <= sum(1 for character in mended if character > "\x7f"):
        return mended
    return data.decode(_likely_encoding(data), errors="replace")


def _likely_encoding(data: bytes) -> str:
    from charset_normalizer import from_bytes

    # Only lines with more than ASCII tell anything, and looking at a few of them keeps the time in bounds.
    telling = b"\n".join(line for line in data.split(b"\n") if not line.isascii())[:_GUESSED_FROM]
    guesses = from_bytes(telling, cp_isolation=list(_LIKELY))
    best = min(
        guesses, key=lambda guess: (guess.chaos, -guess.coherence, _rank(guess.could_be_from_charset)), default=None
    )
    return _LIKELY[_rank(best.could_be_from_charset) if best else 0]


def _rank(encodings: Sequence[str]) -> int:
    """Where the likeliest of some encodings stands in the order of how common they are."""
    return min((_LIKELY.index(encoding) for encoding in encodings if encoding in _LIKELY), default=0)
