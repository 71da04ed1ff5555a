"""From a file on disk to what the graph keeps of it, in one process."""

import os
import pickle
from hashlib import sha256
from pathlib import Path

import pytest

from pipelines.files.content import LARGEST, hash_file
from pipelines.files.making import CannotOpen, Made, Task, make


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "a.md"


def made_of(place: Path, path: str | None = None) -> Made:
    return make(Task(file="a-file", location=str(place), path=path or place.name))


def test_a_file_is_known_by_the_bytes_that_were_read(place: Path) -> None:
    place.write_bytes(b"# Title\n\nText.\n")
    os.utime(place, ns=(1, 1_234_567_890))
    made = made_of(place)
    assert made.content_hash == hash_file(place) == sha256(place.read_bytes()).hexdigest()
    assert (made.size, made.modified) == (15, 1_234_567_890)
    assert (made.extension, made.mime_type, made.manifest.skip) == (".md", "text/markdown", None)
    assert [part.name for part in made.parts] == ["Title"]
    assert [piece.key for piece in made.manifest.pieces] == ["title"]


def test_the_path_in_the_root_says_what_it_is_and_not_where_it_lies(tmp_path: Path) -> None:
    place = tmp_path / "somewhere"
    place.write_text("def f():\n    return 1\n", encoding="utf-8")
    made = made_of(place, "pkg/Mod.PY")
    assert (made.extension, made.language) == (".py", "python")
    assert "file:pkg/Mod.PY" in made.manifest.aliases


def test_an_empty_file_has_no_parts_and_no_reason(place: Path) -> None:
    place.touch()
    made = made_of(place)
    assert (made.parts, made.manifest.skip, made.size) == ([], None, 0)


def test_a_binary_file_is_left_out_with_the_reason_and_keeps_its_name(tmp_path: Path) -> None:
    place = tmp_path / "logo.png"
    place.write_bytes(b"\x89PNG\0\0")
    made = made_of(place, "img/logo.png")
    assert made.manifest.skip == "binary: it holds zeros"
    assert made.manifest.aliases == ("file:img/logo.png",)
    assert (made.content_hash, made.mime_type, made.parts) == (hash_file(place), "image/png", ())


@pytest.mark.parametrize(("size", "is_left_out"), [(LARGEST, False), (LARGEST + 1, True)])
def test_a_file_that_is_too_large_is_hashed_and_not_read(tmp_path: Path, size: int, is_left_out: bool) -> None:
    place = tmp_path / "large.bin"
    with place.open("wb") as file:
        file.truncate(size)
    made = made_of(place)
    assert made.manifest.skip == ("it is larger than 32 MB" if is_left_out else "binary: it holds zeros")
    assert (made.size, made.content_hash) == (size, hash_file(place))


def test_a_file_that_is_gone_leaves_nothing_that_could_be_taken_for_its_content(place: Path) -> None:
    made = made_of(place)
    assert made.manifest.skip == "it was gone when it was to be read"
    assert (made.content_hash, made.size, made.modified) == (None, None, None)


def test_a_file_below_what_is_a_file_now_is_gone_too(place: Path) -> None:
    place.touch()
    assert made_of(place / "below.md").manifest.skip == "it was gone when it was to be read"


def test_a_folder_in_the_place_of_a_file_is_left_out(tmp_path: Path) -> None:
    assert made_of(tmp_path, "a.md").manifest.skip == "it was a folder when it was to be read"


def test_a_file_that_cannot_be_opened_is_no_reason_to_leave_it_out(place: Path) -> None:
    place.symlink_to(place)
    with pytest.raises(CannotOpen, match=r"cannot be read: .*symbolic links"):
        made_of(place)


def test_what_is_made_goes_from_one_process_to_another(place: Path) -> None:
    place.write_text("# Title\n\n[link](other.md)\n", encoding="utf-8")
    made = made_of(place)
    assert pickle.loads(pickle.dumps(made)) == made
