"""CocoIndex over a folder of Markdown pages into Neo4j. Run by the Python that has CocoIndex, not by graphmill's.

Files, sections, the edges between them, and a vector for each section from an endpoint. Files are read by CocoIndex's
own connector, so that an unchanged file is known by its time of change. Set by the environment: FOLDER, STATE, BOLT,
ENDPOINT.
"""

# mypy: ignore-errors
# (CocoIndex is not installed where mypy runs.)

import asyncio
import json
import os
import re
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import cocoindex
from cocoindex.connectors import localfs, neo4j

GRAPH = cocoindex.ContextKey[neo4j.ConnectionFactory]("graph")
HEADING = re.compile(r"^(?=#{1,6} )", re.MULTILINE)
TEXTS_PER_REQUEST = 64  # as graphmill sends them


@dataclass
class Page:
    path: str


@dataclass
class Part:
    key: str
    content: str
    embedding: list[float]


@dataclass
class Holds:
    key: str


@cocoindex.lifespan
async def environment(builder: cocoindex.EnvironmentBuilder):
    builder.settings.db_path = Path(os.environ["STATE"])
    builder.provide(GRAPH, neo4j.ConnectionFactory(uri=os.environ["BOLT"], auth=("neo4j", "unused"), database="neo4j"))
    yield


@cocoindex.fn.as_async(batching=True, max_batch_size=TEXTS_PER_REQUEST)
def embed(texts: list[str]) -> list[list[float]]:
    body = json.dumps({"model": "counted", "input": texts}).encode()
    request = urllib.request.Request(f"{os.environ['ENDPOINT']}/embeddings", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return [each["embedding"] for each in json.load(answer)["data"]]


@cocoindex.fn(memo=True)
async def read_page(file: localfs.File, pages, parts, holds) -> None:
    path = file.file_path.path.as_posix()
    texts = [text.strip() for text in HEADING.split(await file.read_text()) if text.strip()]
    vectors = await asyncio.gather(*map(embed, texts))
    pages.declare_record(row=Page(path))
    for number, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
        key = f"{path}#{number}"
        parts.declare_record(row=Part(key, text, vector))
        holds.declare_relation(from_id=path, to_id=key, record=Holds(key))


async def table(label: str, row: type, key: str):
    schema = await neo4j.TableSchema.from_class(row, primary_key=key)
    return await neo4j.mount_table_target(GRAPH, label, schema, primary_key=key)


@cocoindex.fn
async def flow() -> None:
    pages = await table("BenchPage", Page, "path")
    parts = await table("BenchPart", Part, "key")
    schema = await neo4j.TableSchema.from_class(Holds, primary_key="key")
    holds = await neo4j.mount_relation_target(GRAPH, "BENCH_HOLDS", pages, parts, schema, primary_key="key")
    files = localfs.walk_dir(Path(os.environ["FOLDER"]), recursive=True)
    await cocoindex.mount_each(read_page, files.items(), pages, parts, holds)


app = cocoindex.App(cocoindex.AppConfig(name="bench"), flow)

if __name__ == "__main__":
    app.update_blocking()
