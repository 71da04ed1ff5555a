"""Tables of somebody's own with marks in their columns, written with the plain engine, in a process of its own.

`python old_tables.py kuzu PATH` for documents and paragraphs as the mapping of the docs names them;
`python old_tables.py kuzu PATH NODES.json` for the nodes of the file, a table for each label.
"""

import importlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

MAPPED = [
    "CREATE NODE TABLE Document(key INT64, heading STRING, body STRING, vec DOUBLE[3], vec_sha STRING, "
    "vec_provider STRING, vec_model STRING, status STRING, needs_vector BOOL, created DATE, tags STRING[], "
    "uuid INT64, _state STRING, PRIMARY KEY(key))",
    "CREATE NODE TABLE Paragraph(pid STRING PRIMARY KEY, name INT64, body STRING, status STRING, "
    "extra STRUCT(a INT64, b STRING))",
    "CREATE NODE TABLE Person(id SERIAL PRIMARY KEY, name STRING, uuid UUID)",
    "CREATE REL TABLE HAS_PART(FROM Document TO Paragraph, position INT32)",
    "CREATE REL TABLE WROTE(FROM Person TO Document, FROM Person TO Paragraph, at TIMESTAMP)",
    "CREATE REL TABLE LINKS_TO(FROM Document TO Document, weight DOUBLE)",
    *(
        f"CREATE (:Document {{key: {key}, heading: 'doc {key}', body: 'the text of document {key}', "
        f"vec: [0.1, 0.2, 0.3], vec_provider: 'openai', vec_model: 'small', status: '{word}', "
        f"needs_vector: {'true' if key == 4 else 'false'}, created: date('2020-01-02'), tags: ['a', 'b'], "
        f"uuid: {key + 7}}})"
        for key, word in enumerate(["todo", "done", "broken", "odd", "done"])
    ),
    "MATCH (d:Document {key: 3}) SET d._state = 'their own'",
    *(
        f"CREATE (:Paragraph {{pid: 'p{number}', name: {number}, body: 'a paragraph of some length', status: 'done', "
        f"extra: {{a: {number}, b: 'x'}}}})"
        for number in range(3)
    ),
    "CREATE (:Person {name: 'Ann', uuid: uuid('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')})",
    "MATCH (d:Document {key: 1}), (p:Paragraph {pid: 'p2'}) CREATE (d)-[:HAS_PART {position: 5}]->(p)",
    "MATCH (a:Person), (d:Document {key: 1}) CREATE (a)-[:WROTE {at: timestamp('2020-01-02 03:04:05')}]->(d)",
    "MATCH (a:Person), (p:Paragraph {pid: 'p0'}) CREATE (a)-[:WROTE]->(p)",
    "MATCH (a:Document {key: 0}), (b:Document {key: 1}) CREATE (a)-[:LINKS_TO {weight: 0.5}]->(b)",
]
_TYPES = {bool: "BOOL", str: "STRING", int: "INT64", list: "DOUBLE[]"}


def write(run: Any, nodes: list[dict[str, Any]]) -> None:  # Any: the engine has no types
    """Nodes as `{label, properties, linked}`; those that are linked are so with a node that nobody asks about."""
    run("CREATE NODE TABLE Hub(id INT64 PRIMARY KEY)")
    run("CREATE (:Hub {id: 1})")
    labels = sorted({node["label"] for node in nodes})
    kinds: dict[str, str] = {}
    for node in nodes:
        kinds |= {name: _TYPES[type(value)] for name, value in node["properties"].items()}
    for label in labels:
        columns = ", ".join(f"`{name}` {kind}" for name, kind in kinds.items() if name != "uuid")
        run(f"CREATE NODE TABLE {label}(uuid STRING PRIMARY KEY, {columns})")
    run(f"CREATE REL TABLE NEAR({', '.join(f'FROM {label} TO Hub' for label in labels)})")
    for node in nodes:
        own = node["properties"]
        run(f"CREATE (:{node['label']} {{{', '.join(f'`{name}`: ${name}' for name in own)}}})", own)
        if node["linked"]:
            run(f"MATCH (n:{node['label']} {{uuid: $uuid}}), (h:Hub) CREATE (n)-[:NEAR]->(h)", {"uuid": own["uuid"]})


if __name__ == "__main__":
    module = importlib.import_module(sys.argv[1])
    execute = module.Connection(module.Database(sys.argv[2])).execute
    if len(sys.argv) > 3:
        write(execute, json.loads(Path(sys.argv[3]).read_text()))
    else:
        for statement in MAPPED:
            execute(statement)
