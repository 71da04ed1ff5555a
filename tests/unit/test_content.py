"""A file packed into a text: what is made of it must be what is made of the file."""

import os
from pathlib import Path

import pytest

from pipelines.files.content import LARGEST, LARGEST_PACKED, hash_file, pack, unpack
from pipelines.files.making import Task, make

CODE = "def grind(grain):\n    return mill(grain)\n\n\ndef mill(grain):\n    return grain\n"


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("guide.md", b"# Guide\n\nSee [there](there.md).\n"),
        ("mill.py", CODE.encode()),
        ("empty.txt", b""),
        ("odd.txt", b"\xff\xfe" + "wide".encode("utf-16-le")),
        ("latin.txt", "Mühle für Körner, größer".encode("cp1252")),
        ("logo.png", b"\x89PNG\0\0\0"),
        ("broken.pdf", b"%PDF-1.7 and nothing more"),
    ],
)
def test_what_is_made_of_a_packed_file_is_what_is_made_of_the_file(tmp_path: Path, path: str, data: bytes) -> None:
    place = tmp_path / path
    place.write_bytes(data)
    os.utime(place, ns=(1, 1_234_567_890))
    packed = pack(place, path)
    assert (packed.hash, packed.modified, packed.size) == (hash_file(place), 1_234_567_890, len(data))
    there = make(Task(file="a-file", location=str(place), path=path))
    place.unlink()
    assert make(Task(file="a-file", location=str(place), path=path, packed=packed.text)) == there


def test_of_a_file_with_nothing_to_read_only_the_reason_is_kept(tmp_path: Path) -> None:
    place = tmp_path / "logo.png"
    place.write_bytes(b"\x89PNG\0" * 100_000)
    packed = pack(place, "logo.png")
    assert packed.text is not None
    assert len(packed.text) < 300
    assert unpack(packed.text).reason == "binary: it holds zeros"


def test_a_file_that_is_too_large_to_read_is_known_by_its_hash(tmp_path: Path) -> None:
    place = tmp_path / "large.txt"
    with place.open("wb") as file:
        file.truncate(LARGEST + 1)
    packed = pack(place, "large.txt")
    assert packed.text is not None
    assert unpack(packed.text).reason == "it is larger than 32 MB"


def test_a_text_that_is_too_large_for_a_graph_is_not_packed(tmp_path: Path) -> None:
    place = tmp_path / "large.txt"
    place.write_bytes(b"word " * (LARGEST_PACKED // 5 + 1))
    packed = pack(place, "large.txt")
    assert (packed.text, packed.hash) == (None, hash_file(place))
    place.write_bytes(b"w" * LARGEST_PACKED)
    assert pack(place, "large.txt").text is not None
