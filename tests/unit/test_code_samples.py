"""A small source in every language with all that is found in it, as `code_samples/` says.

A file there has the path, the source and what is expected, a line each. Of a scope: key, kind, lines, parent, signature
and docstring. Of a reference: the scope it is in, what is written there, and the first thing that it may mean.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipelines.files.code.languages import LANGUAGES, language_of
from pipelines.files.code.parse import parse_code
from pipelines.files.model import Document, Part

SAMPLES = Path(__file__).parent / "code_samples"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    path: str
    source: str
    aliases: list[str]
    forwards: list[str]
    scopes: list[str]
    references: list[str]

    def document(self, language: str) -> Document:
        return parse_code(self.path, self.source, language)


def sample_of(language: str) -> Sample:
    path, *parts = (SAMPLES / f"{language}.txt").read_text(encoding="utf-8").split("\n=== ")
    named = {name: text for name, _, text in (part.partition("\n") for part in parts)}
    source = named.pop("source") + "\n"
    return Sample(path=path, source=source, **{name: text.splitlines() for name, text in named.items()})


@pytest.fixture(params=sorted(LANGUAGES))
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def scope_lines(document: Document) -> Iterator[str]:
    for part in document.parts:
        said = (part.properties["signature"], (str(part.properties["docstring"] or "")).replace("\n", "\\n"))
        where = f"{part.start_line}-{part.end_line}"
        kind = str(part.properties["kind"])
        yield " | ".join(str(each or "-") for each in (part.key, kind, where, part.parent, *said))


def reference_lines(document: Document) -> Iterator[str]:
    for part in document.parts:
        yield from (f"{part.key or '-'} | {each.shown.strip()} | {each.wants[0]}" for each in part.references)


def test_every_language_has_a_sample_of_its_own(language: str) -> None:
    assert language_of(sample_of(language).path) == language


def test_scopes_are_found_with_what_they_are(language: str) -> None:
    sample = sample_of(language)
    assert list(scope_lines(sample.document(language))) == sample.scopes


def test_references_are_found_where_they_stand(language: str) -> None:
    sample = sample_of(language)
    assert list(reference_lines(sample.document(language))) == sample.references


def test_a_file_says_what_it_is_called_and_what_it_passes_on(language: str) -> None:
    sample = sample_of(language)
    document = sample.document(language)
    assert document.aliases == (f"file:{sample.path}", *sample.aliases)
    assert [f"{name} -> {wants[0]}" for name, wants in document.forwards.items()] == sample.forwards


def test_the_text_of_a_scope_is_the_text_of_its_lines(language: str) -> None:
    sample = sample_of(language)
    lines = sample.source.splitlines()
    for part in inner(sample.document(language)):
        assert part.content in "\n".join(lines[part.start_line - 1 : part.end_line])
        assert part.content.count("\n") == part.end_line - part.start_line
        assert part.name in part.content or part.name == "default"


def test_no_word_of_a_file_is_lost(language: str) -> None:
    sample = sample_of(language)
    kept = " ".join(part.content for part in sample.document(language).parts)
    assert set(re.findall(r"\w+", sample.source)) <= set(re.findall(r"\w+", kept))


def test_wherever_a_reference_is_said_to_be_it_is(language: str) -> None:
    sample = sample_of(language)
    lines = sample.source.splitlines()
    for part in sample.document(language).parts:
        for reference in part.references:
            assert reference.shown.split("\n")[0].rpartition(".")[2] in lines[reference.line - 1]


def test_a_name_in_the_file_is_the_name_of_a_scope(language: str) -> None:
    document = sample_of(language).document(language)
    names = {name for part in document.parts for name in part.names}
    passed_on = "*" in document.forwards
    wanted = {want[1:] for part in document.parts for each in part.references for want in each.wants if want[0] == "#"}
    assert passed_on or wanted <= names | set(document.forwards)


def test_windows_line_ends_change_nothing_but_themselves(language: str) -> None:
    sample = sample_of(language)
    plain = sample.document(language)
    windows = parse_code(sample.path, sample.source.replace("\n", "\r\n"), language)
    assert list(scope_lines(windows)) == list(scope_lines(plain))
    assert list(reference_lines(windows)) == list(reference_lines(plain))
    assert [part.content.replace("\r\n", "\n") for part in inner(windows)] == [part.content for part in inner(plain)]


def test_letters_of_many_bytes_move_nothing(language: str) -> None:
    sample = sample_of(language)
    plain = sample.document(language)
    comment = "# ünï 🎉 名\n" if language in ("python", "ruby") else "/* ünï 🎉 名 */\n"
    moved = parse_code(sample.path, f"{comment}\n{sample.source}", language)
    assert [part.content for part in inner(moved)] == [part.content for part in inner(plain)]
    assert [part.start_line for part in inner(moved)] == [part.start_line + 2 for part in inner(plain)]


def test_the_same_text_gives_the_same_document(language: str) -> None:
    sample = sample_of(language)
    assert sample.document(language) == sample.document(language)


def inner(document: Document) -> list[Part]:
    """All but the code outside scopes, whose text is in pieces."""
    return [part for part in document.parts if part.key]
