"""Another embedder for a graph that is there: what must be embedded again is, and two spaces are never mixed."""

import pytest

from .corpus import write_corpus
from .jobs import Mill


@pytest.mark.long
def test_another_model_embeds_every_text_again_and_nothing_else(mill: Mill) -> None:
    write_corpus(mill.root, pages=6, modules=2)
    first = mill.ingest("--json").end().json
    texts = first["embedded"]
    assert texts == sum(first["labels"][label]["ready"] for label in ("MarkdownSection", "Scope")) > 0

    mine = ("--embedder", "openai:another")
    assert mill.start("worker", "--drain", *mine).end(2).err.count("give --embedder openai:paced") == 1
    assert mill.start("search", "flour", *mine).end(2).out == ""

    job = mill.ingest("--json", *mine).end().json
    assert (job["parsed"], job["unchanged"], job["embedded"]) == (0, 8, texts)
    assert job["states"] == {"ready": job["total"]}
    assert mill.start("search", "flour", "--json").end(2).json["error"]["code"] == "search_misuse"
    assert len(mill.start("search", "flour", "--json", "--limit", "3", *mine).end().json) == 3

    off = mill.ingest("--json", "--embedder", "none").end().json
    assert (off["embedded"], off["total"], off["states"]) == (0, job["total"], job["states"])
