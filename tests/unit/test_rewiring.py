"""What a change of some files does to the edges of all: applied to a set of edges it gives those of a fresh start."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.files.links import Entry, Index, Spot
from pipelines.files.model import ReferenceKind
from pipelines.files.rewiring import Rewired, rewire
from tests.unit.test_links import PATHS, WANTS, index_of, module, page, spot

LINK, USE = ReferenceKind.LINK, ReferenceKind.USE
Edges = dict[tuple[Spot, ReferenceKind, Spot], int]


class Graph:
    """As much of a graph as rewiring speaks of: nodes vanish with their edges, edges are one per pair."""

    def __init__(self) -> None:
        self.nodes: set[Spot] = set()
        self.edges: Edges = {}
        self.broken: dict[Spot, tuple[str, ...]] = {}

    def apply(self, index: Index, files: dict[str, Entry | None]) -> None:
        old = {each for file in files if file in index for each in index[file].spots}
        new = {each for entry in files.values() if entry for each in entry.spots}
        rewired = rewire(index, files)
        self.nodes = (self.nodes - old) | new
        self.broken = {each: links for each, links in self.broken.items() if each in self.nodes}
        self.edges = {key: count for key, count in self.edges.items() if {key[0], key[2]} <= self.nodes}
        for each in rewired:
            self._apply(each)

    def _apply(self, each: Rewired) -> None:
        assert each.spot in self.nodes, "a node that is gone cannot be written to"
        self.edges = {key: count for key, count in self.edges.items() if key[0] != each.spot or key[1] not in each.cut}
        for (kind, target), count in each.new.items():
            assert target in self.nodes, "an edge to a node that is not there is refused by every store"
            self.edges[each.spot, kind, target] = count
        self.broken.pop(each.spot, None)
        if each.after.broken:
            self.broken[each.spot] = each.after.broken


def expected(index: Index) -> tuple[Edges, dict[Spot, tuple[str, ...]]]:
    found = {source: each for path in FILES for source, each in index.found(path).items()}
    edges = {
        (source, kind, target): count
        for source, each in found.items()
        for (kind, target), count in each.targets.items()
    }
    return edges, {source: each.broken for source, each in found.items() if each.broken}


MODULES = ["m", "n", "pkg"]
USES = st.sampled_from([f"python:{name}#{scope}" for name in MODULES for scope in "fgx"])
PAGES = st.builds(
    lambda path, wants, sections: page(path, *wants, sections=sections),
    st.sampled_from(PATHS),
    st.lists(WANTS, max_size=3),
    st.lists(st.sampled_from(["use", "more"]), max_size=2, unique=True),
)
CODE = st.builds(
    lambda name, uses, scopes, forwards: module(name, *uses, scopes=scopes, forwards=forwards),
    st.sampled_from(MODULES),
    st.lists(USES, max_size=3),
    st.lists(st.sampled_from("fg"), min_size=1, max_size=2, unique=True),
    st.dictionaries(st.sampled_from("fgx"), st.tuples(USES), max_size=2),
)
FILES = [*PATHS, *(f"{name}.py" for name in MODULES)]
CHANGES = st.dictionaries(st.sampled_from(FILES), st.none(), max_size=2).flatmap(
    lambda gone: st.lists(st.one_of(PAGES, CODE), max_size=3).map(
        lambda entries: {**gone, **{entry.uuid: entry for entry in entries}}
    )
)


@given(changes=st.lists(CHANGES, max_size=6))
def test_after_any_changes_the_edges_are_those_of_a_fresh_start(changes: list[dict[str, Entry | None]]) -> None:
    index, graph = Index(), Graph()
    latest: dict[str, Entry | None] = {}
    for files in changes:
        graph.apply(index, files)
        latest |= files
    fresh = index_of(*filter(None, latest.values()))
    assert (graph.edges, graph.broken) == expected(fresh)


@given(changes=st.lists(CHANGES, min_size=1, max_size=4))
def test_the_same_again_changes_nothing(changes: list[dict[str, Entry | None]]) -> None:
    index = Index()
    for files in changes:
        rewire(index, files)
    assert rewire(index, changes[-1]) == []


def test_only_the_kind_that_lost_an_edge_is_cut() -> None:
    index = index_of(page("a.md", "file:b.md", "file:sub/a.md"), page("b.md"), page("sub/a.md"))
    [rewired] = rewire(index, {"b.md": None})
    assert (rewired.spot, rewired.cut) == (spot("a.md"), [LINK])
    assert rewired.new == {(LINK, spot("sub/a.md")): 1}


def test_an_edge_more_needs_no_cut() -> None:
    index = index_of(page("a.md", "file:b.md", "file:sub/a.md"), page("b.md"))
    [rewired] = rewire(index, {"sub/a.md": page("sub/a.md")})
    assert (rewired.cut, rewired.new) == ([], {(LINK, spot("sub/a.md")): 1})


def test_a_node_that_vanishes_is_not_spoken_of() -> None:
    index = index_of(page("a.md", "file:b.md"), page("b.md"))
    assert rewire(index, {"a.md": None}) == []
