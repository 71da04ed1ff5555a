"""The loader and its files: only plain identifiers get into a query, every file is used, both dialects keep step."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cypher

ROOT = Path(__file__).parents[2]
DIALECTS = ("kuzu", "neo4j")
HOSTILE = [
    "",
    " ",
    "a b",
    "1a",
    "a`",
    "`a`",
    "a)",
    "n) DETACH DELETE n //",
    "a\n",
    "a;b",
    "a'b",
    "a\\",
    "a}",
    "%a%",
    "é",
    "\uff41",
    "a\u200b",
    "a\x00",
    "a.b",
    "a-b",
    "a|b",
    "$a",
    "a" * 129,
]


def queries(root: Path, dialect: str) -> set[str]:
    """The names of a dialect's files that code loads; schema and catalogue are read as folders."""
    return {path.stem for path in (root / "cypher" / dialect).glob("*.cypher")}


def adapter(root: Path, dialect: str) -> Iterator[ast.Module]:
    for path in sorted((root / "graph_stores" / dialect).rglob("*.py")):
        yield ast.parse(path.read_text(encoding="utf-8"))


def loads(root: Path, dialect: str) -> Iterator[tuple[str, set[str] | None]]:
    """Each literal name that the dialect's adapter loads, with the identifiers it fills in where they can be seen."""
    for tree in adapter(root, dialect):
        for node in ast.walk(tree):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="cypher"), attr="load" | "render"),
                    args=[_, ast.Constant(value=str(name)), *_],
                    keywords=keywords,
                ):
                    given_names = {keyword.arg for keyword in keywords}
                    yield name, None if None in given_names else {arg for arg in given_names if arg}


def missing_queries(root: Path) -> list[str]:
    return [
        f"{dialect}/{name}.cypher is loaded and not there"
        for dialect in DIALECTS
        for name, _ in loads(root, dialect)
        if not (root / "cypher" / dialect / f"{name}.cypher").is_file()
    ]


def unused_queries(root: Path) -> list[str]:
    return [
        f"{dialect}/{name}.cypher is there and not loaded"
        for dialect in DIALECTS
        for name in sorted(queries(root, dialect) - named_queries(root, dialect))
    ]


def named_queries(root: Path, dialect: str) -> set[str]:
    """Names that the adapter holds, whole or as an f-string whose holes it holds, such as `{verb}_many`."""
    nodes = [node for tree in adapter(root, dialect) for node in ast.walk(tree)]
    words = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    shapes = {"".join(map(_shape, node.values)) for node in nodes if isinstance(node, ast.JoinedStr)} - {"(.+)"}
    built = {
        name
        for name in queries(root, dialect)
        for shape in shapes
        if (match := re.fullmatch(shape, name)) and set(match.groups()) <= words
    }
    return words | built


def _shape(part: ast.expr) -> str:
    return re.escape(str(part.value)) if isinstance(part, ast.Constant) else "(.+)"


def unfilled_identifiers(root: Path) -> list[str]:
    """A `%name%` left standing would reach the engine as it is."""
    return [
        f"{dialect}/{name}.cypher has {sorted(holes)} and is given {sorted(identifiers)}"
        for dialect in DIALECTS
        for name, identifiers in loads(root, dialect)
        if identifiers is not None and name in queries(root, dialect)
        if (holes := _holes(root / "cypher" / dialect / f"{name}.cypher")) != identifiers
    ]


def _holes(path: Path) -> set[str]:
    text = re.sub(r"^\s*//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return set(re.findall(r"%(\w+)%", text)) - {"property", "column"}


def planted(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def test_every_query_that_an_adapter_loads_is_there() -> None:
    assert missing_queries(ROOT) == []


def test_every_query_that_is_there_is_loaded() -> None:
    assert unused_queries(ROOT) == []


def test_every_identifier_of_a_query_is_filled_in_and_no_other_is_given() -> None:
    assert unfilled_identifiers(ROOT) == []


def test_the_checks_see_what_they_are_for(tmp_path: Path) -> None:
    code = (
        'cypher.load(D, "gone")\ncypher.render(D, "hole", label=x)\ncypher.render(D, f"{verb}_many", **x)\nf("write")'
    )
    queries_ = {"hole": "MATCH (n:%label%:%other%)", "unused": "", "write_many": "", "read_many": ""}
    files = {f"cypher/kuzu/{name}.cypher": text for name, text in queries_.items()}
    root = planted(tmp_path, {"graph_stores/kuzu/store.py": code, **files})
    assert [line.split()[0] for line in missing_queries(root)] == ["kuzu/gone.cypher"]
    assert [line.split()[0] for line in unused_queries(root)] == ["kuzu/read_many.cypher", "kuzu/unused.cypher"]
    assert [line.split()[0] for line in unfilled_identifiers(root)] == ["kuzu/hole.cypher"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_file_can_be_loaded_and_holds_a_query(dialect: str) -> None:
    assert queries(ROOT, dialect)
    for name in queries(ROOT, dialect):
        assert cypher.load(dialect, name)
        assert "//" not in re.sub(r"'[^']*'", "", cypher.load(dialect, name))


def test_a_query_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        cypher.load("kuzu", "no such query")


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A dialect with one query that has every kind of hole."""
    lines = ["// what for", "MATCH (n:%label%)", "  // why", "%[SET |n.%property% = row.%property%]%"]
    text = "\n".join([*lines, "RETURN n:%label% %[, |n.%column%]%"])
    planted(tmp_path, {"sample/query.cypher": text})
    monkeypatch.setattr(cypher, "_ROOT", tmp_path)
    for cached in (cypher.load, cypher.render):
        cached.cache_clear()
    return "sample"


def test_rendering_fills_identifiers_repeats_properties_and_columns_and_drops_comments(sample: str) -> None:
    text = cypher.render(sample, "query", ("size", "path"), ("name", "uuid"), label="File")
    assert text == "MATCH (n:File)\nSET n.size = row.size, n.path = row.path\nRETURN n:File , n.name, n.uuid"


def test_what_is_repeated_for_nothing_vanishes_with_what_stands_before_it(sample: str) -> None:
    assert cypher.render(sample, "query", label="File") == "MATCH (n:File)\n\nRETURN n:File "


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_identifier_is_refused_as_a_label_and_as_a_property(sample: str, name: str) -> None:
    assert not cypher.is_identifier(name)
    with pytest.raises(ValueError, match="letters, digits and underscores"):
        cypher.render(sample, "query", label=name)
    with pytest.raises(ValueError, match="letters, digits and underscores"):
        cypher.render(sample, "query", ("fine", name), label="File")
    with pytest.raises(ValueError, match="letters, digits and underscores"):
        cypher.render(sample, "query", (), ("fine", name), label="File")


@given(st.text())
def test_only_letters_digits_and_underscores_ever_get_in(name: str) -> None:
    plain = name.isascii() and name.isidentifier() and len(name) <= 128
    assert cypher.is_identifier(name) == plain


def test_an_identifier_is_never_taken_for_a_placeholder(sample: str) -> None:
    assert "n.label = row.label" in cypher.render(sample, "query", ("label",), label="property")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_migrations_are_numbered_from_one_without_gaps(dialect: str) -> None:
    numbers = [migration.number for migration in cypher.migrations(dialect)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_migrations_have_the_same_numbers_and_names_in_both_dialects() -> None:
    named = [[(each.number, each.name) for each in cypher.migrations(dialect)] for dialect in DIALECTS]
    assert named[0] == named[1]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_migrations_are_statements_without_holes_or_comments(dialect: str) -> None:
    statements = [text for migration in cypher.migrations(dialect) for text in migration.statements]
    assert statements
    assert all(text and "%" not in text and ";" not in text and "//" not in text for text in statements)


def test_both_dialects_know_the_same_labels() -> None:
    def labels(dialect: str, pattern: str) -> set[str]:
        text = "\n".join(text for migration in cypher.migrations(dialect) for text in migration.statements)
        return set(re.findall(pattern, text)) - {"GraphmillMeta", "GraphmillCommit", "GraphmillHold"}

    assert labels("kuzu", r"NODE TABLE (?:IF NOT EXISTS )?(\w+)\(") == labels("neo4j", r"FOR \(n:(\w+)\)")


def test_what_a_migration_creates_is_known_by_name() -> None:
    [files] = [each for each in cypher.migrations("neo4j") if each.name == "files"]
    assert {"file_uuid", "file_claim"} <= set(files.creates)


def test_the_catalogue_has_the_same_queries_in_both_dialects() -> None:
    names = [[query.name for query in cypher.catalogue(dialect)] for dialect in DIALECTS]
    assert names[0] == names[1] != []


# What makes a node stuck is not all in the graph: the command line fills in the rest.
OF_STUCK_NODES = {"stuck", "expansion-stale"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_query_of_the_catalogue_says_what_it_is_for_and_keeps_to_its_project(dialect: str) -> None:
    for query in cypher.catalogue(dialect):
        assert query.about, query.name
        assert query.about not in query.text
        assert "$project" in query.text, query.name
        filled_in = {"project", "gone", "longest"} if query.name in OF_STUCK_NODES else {"project"}
        assert set(re.findall(r"\$(\w+)", query.text)) == filled_in, query.name


def test_the_catalogue_answers_with_the_same_columns_in_both_dialects() -> None:
    found = [{query.name: columns(query.text) for query in cypher.catalogue(dialect)} for dialect in DIALECTS]
    assert found[0] == found[1]


def columns(text: str) -> list[str]:
    """The names of what a query returns, in order; a type that is cast to is in capitals."""
    return re.findall(r" AS ([a-z]\w*)", text[text.rindex("RETURN") :])


def parameters(text: str) -> set[str]:
    return set(re.findall(r"\$(\w+)", text))


def test_both_dialects_are_asked_the_same_questions() -> None:
    asked = [
        {name: (parameters(text), columns(text)) for name, text in cypher.asked(dialect).items()}
        for dialect in DIALECTS
    ]
    assert asked[0] == asked[1]
    assert "manifests" in asked[0]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_question_is_named_plainly_keeps_to_its_project_and_only_reads(dialect: str) -> None:
    for name, text in cypher.asked(dialect).items():
        assert re.fullmatch(r"[A-Za-z0-9_-]+", name)
        assert "project" in parameters(text), name
        assert "%" not in text, name
        assert columns(text), name
        assert not re.search(r"\b(CREATE|MERGE|SET|DELETE|REMOVE|DROP|ALTER)\b", text), name


def test_every_question_that_is_asked_is_there() -> None:
    asked = {
        str(node.args[0].value)
        for folder in ("orchestrator", "pipelines")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "ask"
        if node.args and isinstance(node.args[0], ast.Constant)
    }
    assert asked <= set(cypher.asked("kuzu"))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_labels_that_a_migration_brought_join_a_list_of_labels(dialect: str) -> None:
    bar = "|" if dialect == "neo4j" else ":"
    text = f"MATCH (n:File{bar}Adopted) RETURN n.name"
    assert cypher.with_adopted(text, dialect, ()) == "MATCH (n:File) RETURN n.name"
    assert cypher.with_adopted(text, dialect, ("A", "B")) == f"MATCH (n:File{bar}A{bar}B) RETURN n.name"
    with pytest.raises(ValueError, match="letters"):
        cypher.with_adopted(text, dialect, ("A) DETACH DELETE n //",))
    with pytest.raises(ValueError, match="there are none"):
        cypher.with_adopted("MATCH (n:Adopted) RETURN n", dialect, ())


def test_a_node_with_several_labels_goes_by_the_first_that_graphmill_knows() -> None:
    text = "MATCH (n:File|Adopted) RETURN head(labels(n)), head(labels(m))"
    assert cypher.with_adopted(text, "neo4j", ("Invoice", "Bill")) == (
        "MATCH (n:File|Invoice|Bill) RETURN head([each IN ['Bill', 'File', 'Invoice'] WHERE each IN labels(n)]), "
        "head(labels(m))"
    )
