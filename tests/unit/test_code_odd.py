"""Source that is broken, strange, deep or huge: it is read as far as it makes sense, refused as TooOdd, never more."""

import random
from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.files.code import limits
from pipelines.files.code.languages import LANGUAGES, language_of
from pipelines.files.code.parse import TooOdd, parse_code
from pipelines.files.model import Document
from tests.unit.test_code_samples import sample_of

SIGNS = [*"(){}[]<>'\"`;:,.@#$\\\n\t\r\0é🎉", "/*", "*/", "//", "class ", "def ", "end\n", "#if 1\n", '"""', "::", "=>"]


def keys(document: Document) -> list[str]:
    return [part.key for part in document.parts]


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a.py", "python"),
        ("a/b.PYI", "python"),
        ("a.mjs", "javascript"),
        ("a.jsx", "javascript"),
        ("a.d.ts", "typescript"),
        ("a.tsx", "tsx"),
        ("a.go", "go"),
        ("a.rs", "rust"),
        ("A.java", "java"),
        ("a.c", "c"),
        ("a.h", "cpp"),
        ("a.cc", "cpp"),
        ("a.cs", "csharp"),
        ("a.rb", "ruby"),
        ("x/Rakefile", "ruby"),
        ("a.md", None),
        ("py", None),
        ("a.py.txt", None),
        (".py", None),
    ],
)
def test_a_language_is_told_by_the_name(path: str, language: str | None) -> None:
    assert language_of(path) == language


def test_an_error_in_one_function_leaves_the_others() -> None:
    source = "def one():\n    return 1\n\ndef two():\n    x = = 3\n\nclass Three:\n    def four(self):\n        one()\n"
    assert keys(parse_code("a.py", source, "python")) == ["one", "two", "Three", "Three.four"]


def test_an_error_that_swallows_the_rest_leaves_what_came_before() -> None:
    source = "def one():\n    return 1\n\ndef two(:\n    x = = 3\n\nclass Three:\n    def four(self):\n        one()\n"
    document = parse_code("a.py", source, "python")
    assert "one" in keys(document)
    kept = "".join(part.content for part in document.parts)
    assert all(line.strip() in kept for line in source.split("\n"))


def test_a_definition_whose_name_is_missing_has_no_scope() -> None:
    assert keys(parse_code("a.js", "function () {}\nfunction g() {}\n", "javascript")) == ["", "g"]


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("python", "from import x\nfrom . import\nimport\nfrom ..... import a\n"),
        ("javascript", "import from 'x';\nimport {} from '';\nconst {a} = require();\nexport {} from './x'\n"),
        ("go", 'package a\nimport ""\nimport . "x/y"\nimport _ "x/z"\n'),
        ("rust", "use *;\nuse ::*;\nuse {};\nuse self;\nuse super::super::super::a;\nuse a as b;\nmod ;\n"),
        ("java", "package ;\nimport ;\nimport *;\nimport static a;\n"),
        ("c", '#include ""\n#include "../../../x.h"\nint f(void) { return g(); }\n'),
        ("csharp", "using ;\nusing a = ;\nnamespace ;\n"),
        ("ruby", "require ''\nrequire_relative '../../..'\nrequire_relative\n"),
    ],
)
def test_an_import_of_nothing_or_from_nowhere_is_read(language: str, source: str) -> None:
    assert_sound(parse_code("a/b.x", source, language), source)


def test_same_names_are_counted_and_the_first_has_the_name() -> None:
    document = parse_code("a.py", "def f(): pass\ndef f(): return 1\ndef f(): return 2\n", "python")
    assert [(part.key, part.names) for part in document.parts] == [("f", ("f",)), ("f~2", ()), ("f~3", ())]


def test_thousands_of_the_same_name_have_each_their_key() -> None:
    document = parse_code("a.py", "def f(): pass\n" * 5000, "python")
    assert len(set(keys(document))) == 5000


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_an_empty_file_has_no_part(language: str) -> None:
    for text in ("", "\n", " \r\n\t"):
        assert parse_code("a", text, language).parts == []


def test_a_file_of_nothing_but_signs_has_one_part() -> None:
    assert [part.content for part in parse_code("a.py", "...\n", "python").parts] == ["..."]


def test_code_between_scopes_is_one_part_without_them() -> None:
    (module, *_) = parse_code(
        "a.py", "import os\n\ndef f(): pass\n\n\nx = 1\n\ndef g(): pass\n\ny = 2\n", "python"
    ).parts
    assert module.content == "import os\nx = 1\ny = 2"
    assert (module.start_line, module.end_line) == (1, 10)


def test_a_comment_belongs_to_what_it_stands_before_and_only_once() -> None:
    source = "// License.\n\n// Of one.\n// Still.\nfunc one() {}\n\nvar x = 1 // not of two\nfunc two() {}\n"
    module, one, two = parse_code("a.go", "package a\n" + source, "go").parts
    assert one.content == "// Of one.\n// Still.\nfunc one() {}"
    assert one.properties["docstring"] == "Of one.\nStill."
    assert two.content == "func two() {}"
    assert two.properties["docstring"] is None
    assert "License" in module.content and "not of two" in module.content


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("python", "x = " + "(" * 400 + ")" * 400),
        ("python", "x = a" + ".b()" * 60_000),
        ("python", "x = " + "-" * 60_000 + "1"),
        ("python", "".join(" " * depth + "def f():\n" for depth in range(300)) + " " * 300 + "pass\n"),
        ("javascript", "if (a) {} else " * 20_000 + "{}"),
        ("javascript", "x(function f() { " * 400 + "})" * 400),
        ("c", "int x = " + "a + " * 60_000 + "a;"),
        ("java", "class A { " * 400 + "}" * 400),
        ("rust", "mod a { " * 400 + "}" * 400),
    ],
)
def test_deep_source_is_read(language: str, source: str) -> None:
    assert parse_code("a", source, language).parts


def test_nested_scopes_know_each_other_however_deep() -> None:
    source = "".join(" " * depth + f"def f{depth}():\n" for depth in range(90)) + " " * 90 + "f0()\n"
    last = parse_code("a.py", source, "python").parts[-1]
    assert last.key.count(".") == 89
    assert [reference.wants for reference in last.references] == [("#f0",)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1\n" * 200_000, "bytes"),
        ("(" * 20_000, r"brackets \( are not closed"),
        ("{" * 20_000, r"brackets \{ are not closed"),
        ("<a " * 10_000, "signs <"),
        ("$ " * 5_000, "no sense"),
    ],
)
def test_what_is_too_odd_is_refused_with_the_reason(text: str, says: str) -> None:
    with pytest.raises(TooOdd, match=says):
        parse_code("a.py", text, "python")


def test_a_tree_with_very_many_errors_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_NODES_WITH_ERRORS", 20)
    text = "def f(:\n    return 1\n" * 100
    with pytest.raises(TooOdd, match="more than 20 errors"):
        parse_code("a.py", text, "python")


def test_parsing_ends_when_it_took_too_long() -> None:
    """By a clock of the test's own: a second goes by with every piece that is read."""
    clock = count(0.0, 1.0)
    reader = limits.Reader(b"x = 1\n" * 10_000, clock=lambda: next(clock))
    pieces = iter(lambda: reader(0, None), b"")
    assert len(list(pieces)) == int(limits.SECONDS_TO_PARSE)
    assert reader(0, None) == b""
    with pytest.raises(TooOdd, match="took more than"):
        reader.check()


def test_a_reader_in_time_gives_the_whole_text() -> None:
    source = bytes(range(256)) * 100
    reader = limits.Reader(source)
    read = b"".join(reader(offset, None) for offset in range(0, len(source), limits._CHUNK))
    reader.check()
    assert read == source


def mutated(source: str, seed: int) -> Iterator[str]:
    """Signs put in, pieces cut out, moved and repeated."""
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 8)):
        here, there = sorted((chance.randint(0, len(source)), chance.randint(0, len(source))))
        piece = source[here : min(there, here + 200)]
        match chance.randint(0, 3):
            case 0:
                source = source[:here] + chance.choice(SIGNS) * chance.choice([1, 1, 1, 50]) + source[here:]
            case 1:
                source = source[:here] + source[here + len(piece) :]
            case 2:
                source = source[:there] + piece * chance.choice([1, 20]) + source[there:]
            case 3:
                source = source[:here] + piece[::-1] + source[here + len(piece) :]
    yield source


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.sampled_from(sorted(LANGUAGES)), st.integers(0, 2**32))
def test_broken_source_is_read_or_too_odd_and_nothing_else(language: str, seed: int) -> None:
    sample = sample_of(language)
    (text,) = mutated(sample.source, seed)
    try:
        document = parse_code(sample.path, text, language)
    except TooOdd:
        return
    assert_sound(document, text)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.sampled_from(sorted(LANGUAGES)), st.text(max_size=200))
def test_any_text_is_read_or_too_odd_and_nothing_else(language: str, text: str) -> None:
    try:
        document = parse_code("any/where.x", text, language)
    except TooOdd:
        return
    assert_sound(document, text)


def assert_sound(document: Document, text: str) -> None:
    """What every document keeps to, whatever it was made from."""
    plain = text.encode(errors="replace").decode()
    known = keys(document)
    assert len(set(known)) == len(known)
    for part in document.parts:
        assert part.parent is None or part.parent in known
        assert 1 <= part.start_line <= part.end_line <= text.count("\n") + 1
        assert part.content.strip()
        assert not part.key or part.content in plain
        assert all(reference.wants and reference.line <= part.end_line for reference in part.references)
    assert bool(document.parts) == bool(plain.strip())
