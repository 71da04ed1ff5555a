"""An expansion as an older tool left it in an embedded database, written with the plain engine.

Runs as a process of its own, so that nothing of it is open beside the store: `python old_expansions.py kuzu PATH TYPE`,
and `index` for an index over the vectors, `pieces` for texts in pieces, `edges` for relationships that lead to them,
`more` for tables of somebody's own, `bare` for tables that lack what is not a key, or how many articles instead of the
few.
"""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

TYPES = ("DOUBLE[384]", "DOUBLE[768]", "FLOAT[768]")
# Title, word, numbers of sections, which of them have a vector, links.
ARTICLES: Sequence[tuple[str, str | None, Sequence[int], Sequence[int], Sequence[str]]] = [
    ("Null", None, (), (), ()),
    ("Discovered", "discovered", (), (), ()),
    ("Claimed", "claimed", (), (), ()),
    ("Without sections", "loaded", (), (), ("Null",)),
    ("Gap", "loaded", (0, 2), (0, 2), ("Null",)),
    ("Unlinked", "loaded", (0, 1), (0, 1), ()),
    ("Loaded", "loaded", (0, 1), (0, 1), ("Null",)),
    ("Complete", "processed", (0, 1, 2), (0, 1, 2), ("Null", "Null", "Gap")),
    ("Partly", "processed", (0, 1), (0,), ("Complete",)),
    ("Alias", "processed", (), (), ("Complete",)),
    ("Empty", "processed", (), (), ()),
    ("Failed", "failed", (), (), ()),
    ("Odd", "frobbing", (), (), ()),
]


def write(engine: str, path: Path, kind: str, *, index: bool = False, many: int = 0, more: Sequence[str] = ()) -> None:
    module = importlib.import_module(engine)
    database = module.Database(str(path))
    connection = module.Connection(database)
    if "bare" in more:
        for statement in BARE:
            connection.execute(statement)
        return
    for statement in _tables(kind, edges="edges" in more):
        connection.execute(statement)
    if many:
        _many(connection, many, _length(kind))
    else:
        for article in ARTICLES:
            _article(connection, *article, length=_length(kind))
        _links(connection)
        connection.execute("CREATE (:Category {name: 'Cat', article_count: 3})")
        connection.execute("MATCH (a:Article {title: 'Complete'}), (c:Category) CREATE (a)-[:IN_CATEGORY]->(c)")
    if "pieces" in more:
        _pieces(connection, _length(kind), edges="edges" in more)
    if "more" in more:
        for statement in OWN:
            connection.execute(statement)
    if index:
        connection.execute("CALL CREATE_VECTOR_INDEX('Section', 'near', 'embedding')")
    connection.close()
    database.close()


# All that an expansion must have: an article without columns beside its key and word, one section, one piece of it.
BARE = [
    "CREATE NODE TABLE Article(title STRING PRIMARY KEY, expansion_state STRING)",
    "CREATE NODE TABLE Section(section_id STRING PRIMARY KEY)",
    "CREATE NODE TABLE Category(name STRING PRIMARY KEY)",
    "CREATE NODE TABLE Chunk(chunk_id STRING PRIMARY KEY)",
    "CREATE REL TABLE HAS_SECTION(FROM Article TO Section)",
    "CREATE REL TABLE LINKS_TO(FROM Article TO Article)",
    "CREATE REL TABLE HAS_CHUNK(FROM Section TO Chunk)",
    "CREATE (:Article {title: 'One', expansion_state: 'processed'})-[:HAS_SECTION]->(:Section {section_id: 'One#0'})",
    "CREATE (:Article {title: 'Two', expansion_state: 'loaded'})-[:HAS_SECTION]->(:Section {section_id: 'Two#0'})",
    "CREATE (:Section {section_id: 'Lone#0'})",
    "CREATE (:Category {name: 'Cat'})",
    "MATCH (s:Section {section_id: 'One#0'}) CREATE (s)-[:HAS_CHUNK]->(:Chunk {chunk_id: 'One#0#0'})",
]
# Tables of somebody's own beside those of an expansion, and relationships to each of them.
OWN = [
    "CREATE NODE TABLE Reader(id SERIAL PRIMARY KEY, name STRING, uuid UUID, level DECIMAL(9, 3), "
    "embedding FLOAT[2], seen STRUCT(at TIMESTAMP, words MAP(STRING, INT64)), marks INT16[][])",
    "CREATE REL TABLE READ(FROM Reader TO Article, FROM Reader TO Section, FROM Reader TO Category, "
    "FROM Reader TO Reader, stars UINT8, note STRING)",
    "CREATE (:Reader {name: 'Nobody'})",
    "CREATE (:Reader {name: 'Ann', uuid: uuid('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), "
    "level: CAST(1.5 AS DECIMAL(9, 3)), "
    "seen: {at: timestamp('2020-01-02 03:04:05'), words: map(['mill'], [3])}, marks: [[1, 2], [3]]})",
    "CREATE (:Reader {name: 'Bob'})",
    "MATCH (r:Reader {name: 'Ann'}), (a:Article {title: 'Gap'}) CREATE (r)-[:READ {stars: 4, note: 'nice'}]->(a)",
    "MATCH (r:Reader {name: 'Ann'}), (s:Section {section_id: 'Gap#2'}) CREATE (r)-[:READ {stars: 5}]->(s)",
    "MATCH (r:Reader {name: 'Bob'}), (c:Category) CREATE (r)-[:READ {stars: 1}]->(c)",
    "MATCH (r:Reader {name: 'Ann'}), (o:Reader {name: 'Bob'}) CREATE (r)-[:READ]->(o)",
]


def vector(title: str, number: int, length: int) -> list[float]:
    random = Random(f"{title}#{number}")
    return [random.randrange(1, 64) / 64 for _ in range(length)]


def _length(kind: str) -> int:
    return int(kind.partition("[")[2].removesuffix("]"))


def _tables(kind: str, *, edges: bool) -> list[str]:
    return [
        "CREATE NODE TABLE Article(title STRING PRIMARY KEY, category STRING, word_count INT32, "
        "expansion_state STRING, expansion_depth INT32, claimed_at TIMESTAMP, processed_at TIMESTAMP, "
        "retry_count INT32)",
        f"CREATE NODE TABLE Section(section_id STRING PRIMARY KEY, title STRING, content STRING, embedding {kind}, "
        "level INT32, word_count INT32)",
        "CREATE NODE TABLE Category(name STRING PRIMARY KEY, article_count INT32)",
        f"CREATE NODE TABLE Chunk(chunk_id STRING PRIMARY KEY, content STRING, embedding {kind}, article_title STRING, "
        "section_index INT32, chunk_index INT32)",
        "CREATE REL TABLE HAS_SECTION(FROM Article TO Section, section_index INT32)",
        "CREATE REL TABLE LINKS_TO(FROM Article TO Article, link_type STRING)",
        "CREATE REL TABLE IN_CATEGORY(FROM Article TO Category)",
        "CREATE REL TABLE HAS_CHUNK(FROM Section TO Chunk, FROM Article TO Chunk, score DOUBLE)"
        if edges
        else "CREATE REL TABLE HAS_CHUNK(FROM Article TO Chunk, chunk_index INT32)",
    ]


def _pieces(connection: Any, length: int, *, edges: bool) -> None:
    """Two of the first section of one article, and one without a vector of another."""
    for key, title, place, number, embedded in (
        ("Loaded#0#0", "Loaded", 0, 0, True),
        ("Loaded#0#1", "Loaded", 0, 1, True),
        ("Complete#1#0", "Complete", 1, 0, False),
    ):
        connection.execute(
            "CREATE (:Chunk {chunk_id: $key, content: 'a piece', article_title: $title, section_index: $place, "
            "chunk_index: $number})",
            {"key": key, "title": title, "place": place, "number": number},
        )
        if embedded:
            own = {"key": key, "vector": vector(key, number, length)}
            connection.execute("MATCH (c:Chunk {chunk_id: $key}) SET c.embedding = $vector", own)
        connection.execute(
            "MATCH (a:Article {title: $title}), (c:Chunk {chunk_id: $key}) CREATE (a)-[:HAS_CHUNK]->(c)",
            {"key": key, "title": title},
        )
        if edges:
            connection.execute(
                "MATCH (s:Section {section_id: $section}), (c:Chunk {chunk_id: $key}) "
                "CREATE (s)-[:HAS_CHUNK {score: 0.5}]->(c)",
                {"key": key, "section": f"{title}#{place}"},
            )
    if not edges:
        connection.execute("MATCH (:Article)-[r:HAS_CHUNK]->(c:Chunk) SET r.chunk_index = c.chunk_index")


def _article(
    connection: Any,
    title: str,
    word: str | None,
    numbers: Sequence[int],
    embedded: Sequence[int],
    _: Sequence[str],
    *,
    length: int,
) -> None:
    connection.execute(
        "CREATE (:Article {title: $title, expansion_depth: 1, retry_count: 2, word_count: 7})", {"title": title}
    )
    if word:
        connection.execute(
            "MATCH (a:Article {title: $title}) SET a.expansion_state = $word", {"title": title, "word": word}
        )
    for number in numbers:
        own: dict[str, Any] = {
            "key": f"{title}#{number}",
            "name": title if not number else "History",
            "text": f"{title}, {number}",
        }
        given = ", embedding: $vector" if number in embedded else ""
        if number in embedded:
            own["vector"] = vector(title, number, length)
        connection.execute(
            f"CREATE (:Section {{section_id: $key, title: $name, content: $text, level: 2, word_count: 3{given}}})", own
        )
        connection.execute(
            "MATCH (a:Article {title: $title}), (s:Section {section_id: $key}) "
            "CREATE (a)-[:HAS_SECTION {section_index: $number}]->(s)",
            {"title": title, "key": own["key"], "number": number},
        )


def _links(connection: Any) -> None:
    for title, _, _, _, targets in ARTICLES:
        for target in targets:
            connection.execute(
                "MATCH (a:Article {title: $a}), (b:Article {title: $b}) "
                "CREATE (a)-[:LINKS_TO {link_type: 'text'}]->(b)",
                {"a": title, "b": target},
            )


def _many(connection: Any, articles: int, length: int) -> None:
    import pyarrow

    titles = [f"Article {number}" for number in range(articles)]
    keys = [(title, number) for title in titles for number in range(9)]
    whole = {"title": titles, "expansion_state": ["processed"] * articles}
    parts = {
        "section_id": [f"{title}#{number}" for title, number in keys],
        "title": [f"part {number}" for _, number in keys],
        "content": [f"what is said of {title}" for title, _ in keys],
        "embedding": pyarrow.array([[0.5] * length] * len(keys), pyarrow.list_(pyarrow.float32(), length)),
    }
    edges = {
        "from": [title for title, _ in keys],
        "to": parts["section_id"],
        "section_index": pyarrow.array([number for _, number in keys], pyarrow.int32()),
    }
    connection.execute("COPY Article(title, expansion_state) FROM $rows", {"rows": pyarrow.table(whole)})
    connection.execute("COPY Section(section_id, title, content, embedding) FROM $rows", {"rows": pyarrow.table(parts)})
    connection.execute("COPY HAS_SECTION FROM $rows", {"rows": pyarrow.table(edges)})


if __name__ == "__main__":
    _, scheme, place, kind_of_vector, *rest = sys.argv
    count = next((int(each) for each in rest if each.isdigit()), 0)
    write(scheme, Path(place), kind_of_vector, index="index" in rest, many=count, more=rest)
