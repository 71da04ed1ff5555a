"""From bytes to text: every encoding that files are in, and the files that are no text."""

import gzip
import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from pipelines.files.model import CannotRead
from pipelines.files.reading import decode, lines_of, storable

FRENCH = "Élève à l'école, déjà vu: naïve café, façade, garçon.\n"
CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy.\n"
RUSSIAN = "Привет, как дела? Это русский текст для проверки.\n"
JAPANESE = "これは日本語のテキストです。文字コードを判定します。\n"
CHINESE = "这是一个中文文本，用于检测编码。今天天气很好。\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (FRENCH, "utf-8"),
        (FRENCH, "utf-8-sig"),
        (FRENCH, "utf-16"),
        (FRENCH, "utf-32"),
        ("plain text without a mark", "utf-16-le"),
        ("plain text without a mark", "utf-16-be"),
        (FRENCH, "cp1252"),
        (FRENCH, "latin-1"),
        ("Grüße aus München", "cp1252"),
        (CZECH, "cp1250"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (CHINESE, "gb18030"),
    ],
)
def test_the_encoding_is_found(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


def test_big_endian_marks_are_known_too() -> None:
    assert decode(b"\xfe\xff" + "é".encode("utf-16-be")) == "é"


def test_a_few_broken_bytes_do_not_make_a_text_another() -> None:
    data = (FRENCH * 20).encode()
    assert decode(data[:100] + b"\xff" + data[100:]).count("�") == 1


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"\x7fELF\x02\x01\x01" + bytes(9),
        gzip.compress(b"text" * 100, mtime=0),
        struct.pack("<100d", *(number / 7 for number in range(100))),
        random.Random(1).randbytes(5000),
        random.Random(2).randbytes(5000).replace(b"\0", b"\1"),
        b"\xff\xfe" + b"odd",
        b"\xef\xbb\xbf\xff\xff",
        b"text with a \0 in it",
        bytes(range(1, 9)) * 20,
    ],
)
def test_what_is_no_text_is_refused_as_binary(data: bytes) -> None:
    with pytest.raises(CannotRead, match=r"^binary"):
        decode(data)


def test_nothing_is_an_empty_text() -> None:
    assert decode(b"") == ""


@settings(max_examples=200, deadline=None, derandomize=True)
@given(some.binary(max_size=300))
def test_any_bytes_are_a_text_that_can_be_stored_or_are_refused(data: bytes) -> None:
    try:
        text = decode(data)
    except CannotRead:
        return
    assert "\0" not in text
    assert text.encode().decode() == text


@settings(deadline=None, derandomize=True)
@given(some.text(alphabet="ab \r\n\v\f\x85\u2028"))
def test_lines_end_where_a_file_ends_them_and_nowhere_else(text: str) -> None:
    lines = lines_of(text)
    assert "".join(lines) == text
    assert len(lines) == len(text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")) - (
        text == ""
    )


def test_what_a_format_spells_can_be_stored() -> None:
    assert storable("a\ud800b\0c") == "a?b�c"
