"""Which reader a file gets; and that none is ever lost to what is in it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from pipelines.files.kinds import mime_type
from pipelines.files.model import CannotRead, Document
from pipelines.files.parsing import parse

EXTENSIONS = [
    "md",
    "txt",
    "html",
    "rst",
    "ipynb",
    "csv",
    "tsv",
    "json",
    "jsonl",
    "pdf",
    "docx",
    "py",
    "rs",
    "unknown",
    "",
]


@pytest.mark.parametrize(
    ("path", "text", "label", "kind"),
    [
        ("README.md", "# A", "MarkdownSection", "text/markdown"),
        ("A.MARKDOWN", "# A", "MarkdownSection", "text/markdown"),
        ("a.html", "<p>a", "TextSection", "text/html"),
        ("a.rst", "A\n=\n", "TextSection", "text/x-rst"),
        ("a.csv", "a,b\n1,2", "TextSection", "text/csv"),
        ("a.json", '{"a": 1}', "TextSection", "application/json"),
        ("a.toml", "a = 1", "TextSection", "application/toml"),
        ("LICENSE", "Do as you like.", "TextSection", "text/plain"),
        ("a.strange", "Some text.", "TextSection", "text/plain"),
        ("a.py", "def f():\n    return 1\n", "Scope", "text/x-python"),
        ("tool", "#!/usr/bin/env python3\ndef f():\n    return 1\n", "Scope", None),
        ("tool", "#!/usr/bin/env -S node --x\nfunction f() { return 1 }\n", "Scope", None),
        ("tool", "#!/bin/sh\necho", "TextSection", "text/plain"),
    ],
)
def test_a_file_is_read_by_its_name_or_how_it_begins(path: str, text: str, label: str, kind: str | None) -> None:
    made = parse(path, text.encode())
    assert {part.label for part in made.parts} == {label}
    assert kind in {None, made.mime_type}
    assert f"file:{path}" in made.aliases


@pytest.mark.parametrize(
    ("path", "kind"),
    [("a.png", "image/png"), ("a.JPG", "image/jpeg"), ("a.zip", "application/zip"), ("a", "application/octet-stream")],
)
def test_the_media_type_of_what_is_not_read_is_told_by_its_name(path: str, kind: str) -> None:
    assert mime_type(path) == kind


@pytest.mark.parametrize("path", ["a.png", "a.md", "a.py", "a", "a.json"])
def test_binary_is_left_out_whatever_its_name(path: str) -> None:
    with pytest.raises(CannotRead, match="binary"):
        parse(path, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0")


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_an_empty_file_has_no_parts(extension: str) -> None:
    if extension not in {"pdf", "docx"}:
        assert list(parse(f"a.{extension}", b" \n").parts) == []


def outcome(path: str, data: bytes) -> Document | str:
    try:
        return parse(path, data)
    except CannotRead as reason:
        return str(reason)


def check(path: str, data: bytes) -> None:
    made = outcome(path, data)
    assert outcome(path, data) == made
    if isinstance(made, str):
        assert made
        return
    assert made.aliases[0] == f"file:{path}"
    keys = [(part.label, part.key) for part in made.parts]
    assert len(set(keys)) == len(keys)
    for part in made.parts:
        assert part.name and part.content.strip()
        assert 1 <= part.start_line <= part.end_line
        assert part.parent is None or (part.label, part.parent) in keys
        assert "\0" not in part.content
        for text in (part.key, part.name, part.content, *part.names):
            text.encode()


SNIPPETS = some.sampled_from(
    [
        *(
            "# A\n",
            "<h1 id='x'>",
            "</h1>",
            "<p>",
            "A\n=\n",
            ".. _x:\n",
            '{"cells": [',
            '"source": ["a"]',
            "]}",
            ",",
            '"',
            "\n",
        ),
        *(
            "&#xD800;",
            "&#0;",
            "\\ud800",
            "[a](b)",
            "[[",
            "]]",
            "```",
            "|",
            "a,b\n",
            "--\n",
            ".. image:: x\n",
            "`a <b>`_",
        ),
        *(
            '{"a": [1, {"b": null}]}',
            "<!--",
            "-->",
            "<script>",
            "\t",
            "\r",
            "é",
            "def f():\n",
            "    pass\n",
            "#!/usr/bin/python\n",
        ),
    ]
)


@pytest.mark.parametrize("extension", EXTENSIONS)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(data=some.one_of(some.lists(SNIPPETS, max_size=15).map("".join).map(str.encode), some.binary(max_size=200)))
def test_no_content_raises_anything_but_a_reason_and_the_same_is_read_twice(extension: str, data: bytes) -> None:
    check(f"dir/a.{extension}", data)
