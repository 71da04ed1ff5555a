"""The tree keeps the rules of the design. Each rule is a function from a tree to its offences, and each is shown
a small tree that breaks it: a rule that looks at nothing would pass for ever."""

import ast
import re
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = ("orchestrator.cli", "orchestrator", "pipelines", "graph_stores", "cypher")
FOLDERS = ("orchestrator", "pipelines", "graph_stores", "cypher")
OUTSIDE = ("tests", "scripts")
DRIVERS = {"kuzu", "ladybug", "neo4j", "pyarrow"}

QUERY = re.compile(
    r"""\b(?:MATCH|MERGE|CREATE|DELETE)\s*\(
      | \b(?:UNWIND|COPY|WHERE|YIELD|INSTALL|ATTACH)\s+[\w$'\[(]
      | \bRETURN\s+(?:DISTINCT\b|[*$'\[{\d]|\w+\s*(?:[.(,;]|$|AS\b|ORDER\b|LIMIT\b))
      | \bDETACH\s+DELETE\b | \bORDER\s+BY\b | \bWITH\s+[\w.]+\s+AS\b | \bSET\s+\w+\.\w+ | \bLIMIT\s+[$\d]
      | \bCALL\s*(?:\{|[\w.]+\s*\(|[\w.]+\s*=) | \bLOAD\s+(?:FROM|CSV|EXTENSION)\b
      | \b(?:CREATE|DROP|ALTER|SHOW|COMMENT\s+ON)\s+
        (?:NODE|REL|TABLE|(?:VECTOR\s+|RANGE\s+)?INDEX(?:ES)?|CONSTRAINTS?|SEQUENCE|MACRO|DATABASES?|FUNCTIONS|PROCEDURES)\b
      | \bBEGIN\s+TRANSACTION\b | ^\s*(?:BEGIN|COMMIT|ROLLBACK|CHECKPOINT)\s*;?\s*$
    """,
    re.VERBOSE | re.MULTILINE,
)
ENGINE = re.compile(r"kuzu|ladybug|neo4j|bolt(?=\W|$)", re.IGNORECASE)
ASKS_ABOUT_TEXT = {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "split", "find", "index"}

Rule = Callable[[Path], list[str]]


def modules(root: Path, *folders: str) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(chain.from_iterable((root / folder).rglob("*.py") for folder in folders)):
        yield path.relative_to(root).as_posix(), ast.parse(path.read_text(encoding="utf-8"), str(path))


def imported(where: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every module that is imported anywhere in a file, by statement or by a call with its literal name."""
    package = where.removesuffix(".py").removesuffix("/__init__").split("/")
    parents = package if where.endswith("__init__.py") else package[:-1]
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                here = parents[: len(parents) - level + 1] if level else []
                base = ".".join([*here, *filter(None, [module])])
                yield from ((node.lineno, f"{base}.{alias.name}") for alias in names)
            case ast.Call(func=ast.Name(id=verb) | ast.Attribute(attr=verb), args=[ast.Constant(value=str(name)), *_]):
                if verb in {"import_module", "__import__"}:
                    yield node.lineno, name


def is_or_is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def layer(module: str) -> int | None:
    return next((rank for rank, name in enumerate(LAYERS) if is_or_is_in(module, name)), None)


def texts(tree: ast.Module, but: frozenset[int] | set[int] = frozenset()) -> Iterator[tuple[int, str]]:
    """Every string but the docstrings and some others; the holes of an f-string are shown as a name."""
    skipped = docstrings(tree) | but
    for node in ast.walk(tree):
        match node:
            case ast.JoinedStr(values=values) if id(node) not in skipped:
                skipped |= set(map(id, values))
                yield (
                    node.lineno,
                    "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in values),
                )
            case ast.Constant(value=str(text)) if id(node) not in skipped:
                yield node.lineno, text


def docstrings(tree: ast.Module) -> set[int]:
    """A string that stands alone: the docstring of a module, class, function or field."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def advice(tree: ast.Module) -> set[int]:
    """What is said to a person, who may be shown an example."""
    spoken = (node for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg in {"hint", "help"})
    return {id(node) for keyword in spoken for node in ast.walk(keyword)}


def identifiers(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=name, asname=other):
            yield from filter(None, [name, other])


def decided_upon(tree: ast.Module) -> Iterator[ast.expr]:
    """Where a string decides something: compared, matched, listed, looked up, or asked for in another string."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=others):
                yield from [left, *others]
            case ast.MatchValue(value=value) | ast.Subscript(slice=value):
                yield value
            case ast.Dict(keys=keys):
                yield from filter(None, keys)
            case ast.Tuple(elts=listed) | ast.List(elts=listed) | ast.Set(elts=listed):
                yield from (each for each in listed if isinstance(each, ast.Constant))
            case ast.Call(func=ast.Attribute(attr=verb), args=arguments) if verb in ASKS_ABOUT_TEXT | {"get"}:
                yield from arguments


def imports_point_one_way(root: Path) -> list[str]:
    return [
        f"{where}:{line} imports {module}"
        for where, tree in modules(root, *FOLDERS)
        for line, module in imported(where, tree)
        if (here := layer(where.removesuffix(".py").replace("/", "."))) is not None
        if any(is_or_is_in(module, name) for name in OUTSIDE) or ((there := layer(module)) is not None and there < here)
    ]


def drivers_stay_in_graph_stores(root: Path) -> list[str]:
    return [
        f"{where}:{line} imports the driver {module}"
        for where, tree in modules(root, "orchestrator", "pipelines", "cypher")
        for line, module in imported(where, tree)
        if module.split(".")[0] in DRIVERS
    ]


def queries_stay_in_cypher(root: Path) -> list[str]:
    return [
        f"{where}:{line} holds query text: {found.group()!r}"
        for where, tree in modules(root, "orchestrator", "pipelines", "graph_stores")
        for line, text in texts(tree, but=advice(tree))
        if (found := QUERY.search(text))
    ]


def engines_are_not_asked_for_by_name(root: Path) -> list[str]:
    """Outside the stores an engine's name may be shown (help, a default URL) but nothing is called or decided by it."""
    offences = []
    for where, tree in modules(root, "orchestrator", "pipelines"):
        named = [name for node in ast.walk(tree) for name in identifiers(node) if ENGINE.search(name)]
        deciding = [
            node.value
            for expression in decided_upon(tree)
            for node in ast.walk(expression)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and ENGINE.search(node.value)
        ]
        offences += [f"{where} decides by the engine's name {word!r}" for word in [*named, *deciding]]
    return offences


def states_have_one_writer(root: Path) -> list[str]:
    offences = []
    for where, tree in modules(root, "orchestrator", "pipelines", "graph_stores"):
        if where in ("orchestrator/lifecycle.py", "orchestrator/moves.py"):
            continue
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id="Transition" | "Claim") | ast.Attribute(attr="Transition" | "Claim")):
                    offences.append(f"{where}:{node.lineno} builds a move of its own")
                case ast.alias(name="Transition" | "Claim", asname=str()):
                    offences.append(f"{where}:{node.lineno} hides a move behind another name")
        # A migration reads what others have written under the same name.
        if not where.startswith(("graph_stores/", "orchestrator/migration/")):
            offences += [f"{where}:{line} names the state's property" for line, text in texts(tree) if text == "_state"]
    return offences


def cypher_holds_no_code_but_its_loader(root: Path) -> list[str]:
    return [where for where, _ in modules(root, "cypher") if where != "cypher/__init__.py"]


RULES: list[Rule] = [
    imports_point_one_way,
    drivers_stay_in_graph_stores,
    queries_stay_in_cypher,
    engines_are_not_asked_for_by_name,
    states_have_one_writer,
    cypher_holds_no_code_but_its_loader,
]

BAD: list[tuple[Rule, str, str]] = [
    (imports_point_one_way, "cypher/__init__.py", "import graph_stores"),
    (imports_point_one_way, "graph_stores/x.py", "from pipelines.files import walk"),
    (imports_point_one_way, "graph_stores/kuzu/x.py", "from orchestrator.states import State"),
    (imports_point_one_way, "pipelines/x.py", "def f():\n    import orchestrator.lifecycle"),
    (imports_point_one_way, "pipelines/x.py", "from importlib import import_module\nimport_module('orchestrator')"),
    (imports_point_one_way, "orchestrator/worker.py", "from orchestrator.cli import main"),
    (imports_point_one_way, "orchestrator/worker.py", "from . import cli"),
    (imports_point_one_way, "orchestrator/runs/__init__.py", "from ..cli.status import show"),
    (imports_point_one_way, "pipelines/x.py", "if TYPE_CHECKING:\n    from orchestrator import states"),
    (imports_point_one_way, "orchestrator/cli/x.py", "from tests.conformance import conftest"),
    (drivers_stay_in_graph_stores, "orchestrator/x.py", "import kuzu"),
    (drivers_stay_in_graph_stores, "pipelines/x.py", "def f():\n    from neo4j.exceptions import Neo4jError"),
    (drivers_stay_in_graph_stores, "pipelines/x.py", "import pyarrow.compute as pc"),
    (drivers_stay_in_graph_stores, "orchestrator/cli/x.py", "import importlib\nimportlib.import_module('ladybug')"),
    (drivers_stay_in_graph_stores, "cypher/__init__.py", "__import__('kuzu')"),
    (queries_stay_in_cypher, "orchestrator/x.py", "q = 'MATCH (n) RETURN n'"),
    (queries_stay_in_cypher, "pipelines/x.py", "q = f'MERGE ({alias}:{label})'"),
    (queries_stay_in_cypher, "graph_stores/x.py", "connection.execute('BEGIN TRANSACTION')"),
    (queries_stay_in_cypher, "graph_stores/x.py", "connection.execute('COMMIT')"),
    (queries_stay_in_cypher, "graph_stores/x.py", "connection.execute('checkpoint'.upper() or 'CHECKPOINT;')"),
    (queries_stay_in_cypher, "graph_stores/x.py", "q = f'CALL {procedure}($vector)'"),
    (queries_stay_in_cypher, "graph_stores/x.py", "q = f'COPY {label} FROM $table'"),
    (queries_stay_in_cypher, "graph_stores/x.py", "q = 'SHOW INDEXES'"),
    (queries_stay_in_cypher, "graph_stores/x.py", "q = '''\nUNWIND $rows AS row\n'''"),
    (queries_stay_in_cypher, "graph_stores/x.py", "q = prefix + ' WHERE n.uuid = $uuid'"),
    (queries_stay_in_cypher, "graph_stores/x.py", "q = prefix + ' RETURN n'"),
    (queries_stay_in_cypher, "graph_stores/x.py", "q = prefix + ' RETURN count(*)'"),
    (queries_stay_in_cypher, "graph_stores/x.py", "q = f'CREATE NODE TABLE {label}(x INT64)'"),
    (queries_stay_in_cypher, "graph_stores/x.py", "q = ['SET n._state = $state']"),
    (engines_are_not_asked_for_by_name, "orchestrator/x.py", "if scheme == 'kuzu': pass"),
    (engines_are_not_asked_for_by_name, "orchestrator/x.py", "if url.startswith('neo4j://localhost'): pass"),
    (engines_are_not_asked_for_by_name, "orchestrator/x.py", "LOCAL = ('kuzu', 'ladybug')"),
    (engines_are_not_asked_for_by_name, "pipelines/x.py", "is_kuzu = True"),
    (engines_are_not_asked_for_by_name, "pipelines/x.py", "def f(store):\n    return store.neo4j_driver"),
    (engines_are_not_asked_for_by_name, "pipelines/x.py", "match scheme:\n    case 'bolt': pass"),
    (engines_are_not_asked_for_by_name, "pipelines/x.py", "size = {'neo4j at home': 1}[where]"),
    (engines_are_not_asked_for_by_name, "orchestrator/x.py", "from graph_stores import kuzu"),
    (states_have_one_writer, "orchestrator/runs.py", "Transition(node=ref, expected='a', to='b')"),
    (states_have_one_writer, "pipelines/x.py", "model.Transition(node=ref, expected='a', to='b')"),
    (states_have_one_writer, "graph_stores/x.py", "Claim(labels=(), waiting='a', working='b')"),
    (states_have_one_writer, "orchestrator/x.py", "from graph_stores.model import Transition as Move"),
    (states_have_one_writer, "orchestrator/x.py", "properties['_state'] = 'ready'"),
    (states_have_one_writer, "pipelines/x.py", "properties = {'_state': 'ready'}"),
    (cypher_holds_no_code_but_its_loader, "cypher/queries.py", ""),
    (cypher_holds_no_code_but_its_loader, "cypher/kuzu/__init__.py", ""),
]

GOOD: list[tuple[Rule, str, str]] = [
    (imports_point_one_way, "orchestrator/cli/x.py", "from orchestrator import lifecycle\nfrom pipelines import files"),
    (imports_point_one_way, "graph_stores/x.py", "import cypher\nfrom graph_stores.errors import Misuse"),
    (imports_point_one_way, "pipelines/x.py", "import orchestrator_of_another_kind"),
    (imports_point_one_way, "orchestrator/cli/x.py", "from . import status\nfrom .. import lifecycle"),
    (drivers_stay_in_graph_stores, "graph_stores/kuzu/x.py", "import kuzu"),
    (queries_stay_in_cypher, "orchestrator/x.py", '"""MATCH (n) RETURN n"""'),
    (queries_stay_in_cypher, "orchestrator/x.py", "class X:\n    limit: int\n    '''MATCH (n) is what it limits.'''"),
    (queries_stay_in_cypher, "orchestrator/x.py", "hint = 'create the schema with: graphmill init'"),
    (queries_stay_in_cypher, "graph_stores/x.py", "message = 'the commit at the last checkpoint; where and return'"),
    (queries_stay_in_cypher, "graph_stores/x.py", "hint = 'begin with MATCH, UNWIND, WITH, RETURN or CALL'"),
    (queries_stay_in_cypher, "graph_stores/x.py", "raise Misuse('no', hint='write MATCH (n) RETURN count(*)')"),
    (queries_stay_in_cypher, "cypher/__init__.py", "pattern = 'CREATE (n)'"),
    (engines_are_not_asked_for_by_name, "orchestrator/cli/x.py", "default = 'kuzu:./graph.kuzu'"),
    (engines_are_not_asked_for_by_name, "orchestrator/cli/x.py", "add('--store', help='kuzu:PATH or neo4j://HOST')"),
    (engines_are_not_asked_for_by_name, "orchestrator/x.py", "defaults = {'user': 'neo4j'}"),
    (engines_are_not_asked_for_by_name, "orchestrator/x.py", "store.capabilities.vector_index"),
    (engines_are_not_asked_for_by_name, "graph_stores/x.py", "if scheme == 'kuzu': pass"),
    (states_have_one_writer, "orchestrator/moves.py", "Transition(node=ref, expected='a', to='b')"),
    (states_have_one_writer, "orchestrator/x.py", "from graph_stores.model import Transition\nlifecycle.transition(x)"),
    (cypher_holds_no_code_but_its_loader, "cypher/__init__.py", ""),
]


def planted(root: Path, where: str, code: str) -> Path:
    path = root / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code, encoding="utf-8")
    return root


def names(samples: list[tuple[Rule, str, str]]) -> list[str]:
    return [f"{rule.__name__}-{place}" for place, (rule, _, _) in enumerate(samples)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_tree_keeps(rule: Rule) -> None:
    assert rule(ROOT) == []


@pytest.mark.parametrize(("rule", "where", "code"), BAD, ids=names(BAD))
def test_the_rule_sees_what_breaks_it(rule: Rule, where: str, code: str, tmp_path: Path) -> None:
    assert rule(planted(tmp_path, where, code)) != []


@pytest.mark.parametrize(("rule", "where", "code"), GOOD, ids=names(GOOD))
def test_the_rule_lets_pass_what_is_right(rule: Rule, where: str, code: str, tmp_path: Path) -> None:
    assert rule(planted(tmp_path, where, code)) == []


def test_every_rule_has_a_tree_that_breaks_it_and_one_that_does_not() -> None:
    assert {rule for rule, _, _ in BAD} == {rule for rule, _, _ in GOOD} == set(RULES)


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_rules_look_at_every_folder(folder: str) -> None:
    assert list(modules(ROOT, folder))
