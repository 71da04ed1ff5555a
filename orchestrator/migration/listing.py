"""The statements that the migration of tables runs, to be read."""

from collections.abc import Iterator, Sequence

from graph_stores.legacy import NewGraph, TableGraph
from orchestrator.migration.making import Between
from orchestrator.migration.rebuild import OWN_EDGES


def questions(graph: TableGraph, edges: Sequence[Between], *, is_expansion: bool) -> Iterator[str]:
    """What is asked of the old graph."""
    tables = graph.tables
    for label in sorted(tables.nodes):
        if not (is_expansion and label == "Section"):
            yield graph.text("node_page", list(tables.nodes[label]), label=label)
    if is_expansion and "Section" in tables.nodes:
        columns = list(tables.nodes["Section"])
        if "HAS_SECTION" in tables.edges:
            yield graph.text("section_page", columns, list(tables.edges["HAS_SECTION"]))
        yield graph.text("lone_sections", columns)
    for kind, question in (("LINKS_TO", "link_page"), ("IN_CATEGORY", "category_page")):
        if is_expansion and kind in tables.edges:
            yield graph.text(question, list(tables.edges[kind]))
    for kind, (source, target) in edges:
        keys = {"sourceKey": graph.keys[source], "targetKey": graph.keys[target]}
        keys |= {"type": kind, "source": source, "target": target}
        yield graph.text("edge_page", list(tables.edges[kind]), **keys)


def copies(graph: TableGraph, new: NewGraph, edges: Sequence[Between], *, is_expansion: bool) -> Iterator[str]:
    """What fills the new one."""
    for label in sorted(graph.tables.nodes):
        yield graph.text("copy_nodes", list(new.tables.nodes[label]), label=label)
    own = [each for each in OWN_EDGES.items() if each[0] in graph.tables.edges] if is_expansion else []
    for kind, (source, target) in [*own, *(each for each in edges if each not in own)]:
        columns = list(new.tables.edges[kind])
        form = "copy_edges" if columns else "copy_bare_edges"
        yield graph.text(form, columns, type=kind, source=source, target=target)
