"""The standard library, as a large project that everybody has: what Python itself finds in it is found."""

import ast
import re
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.files.code.parse import parse_code

LIBRARY = Path(sysconfig.get_path("stdlib"))
SOME = [
    path
    for path in sorted(LIBRARY.rglob("*.py"))
    if "site-packages" not in path.parts and "test" not in path.parts and path.stat().st_size < 60_000
][::4][:200]


def defined(tree: ast.AST, path: str = "") -> Iterator[tuple[str, int, int]]:
    """Every definition with its lines, decorators included."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield f"{path}{node.name}", first, node.end_lineno or 0
            yield from defined(node, f"{path}{node.name}.")
        else:
            yield from defined(node, path)


def read(path: Path) -> tuple[str, ast.Module] | None:
    """None for the few that are there to be no Python of today."""
    text = path.read_text(encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd escape in a string
        try:
            return text, ast.parse(text)
        except SyntaxError:
            return None


def test_there_is_a_sample() -> None:
    assert len([path for path in SOME if read(path)]) > 100


@pytest.mark.parametrize("share", range(4))
def test_every_definition_that_python_finds_is_found(share: int) -> None:
    for path in SOME[share::4]:
        if (known := read(path)) is None:
            continue
        text, tree = known
        document = parse_code(path.relative_to(LIBRARY).as_posix(), text, "python")
        found = [(re.sub(r"~\d+", "", part.key), part.start_line, part.end_line) for part in document.parts if part.key]
        expected = sorted(defined(tree), key=lambda each: (each[1], -each[2]))
        assert [name for name, _, _ in found] == [name for name, _, _ in expected], path
        # The comments before a definition and at the end of it are part of it here.
        around = zip(found, expected, strict=True)
        assert all(one[1] <= other[1] and one[2] >= other[2] for one, other in around), path


def test_docstrings_are_as_python_reads_them() -> None:
    compared = 0
    for text, tree in filter(None, map(read, SOME[:60])):
        names = {part.key: part.properties["docstring"] for part in parse_code("a.py", text, "python").parts}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and f"{node.name}~2" not in names:
                expected = ast.get_docstring(node)
                if "\\" not in (expected or "") and "\\" not in str(names[node.name]):
                    assert (names[node.name] or "") == (expected or "").strip(), node.name
                    compared += 1
    assert compared > 100
