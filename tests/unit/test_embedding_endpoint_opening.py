"""Opening an OpenAI-compatible endpoint: what is learnt, what is refused before or at the first call."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from pipelines.embedding import Embedded, EmbedderChoice, EmbedderMisuse, Texts, open_embedder
from pipelines.embedding.endpoint import open_endpoint
from pipelines.embedding.errors import EndpointRefused
from pipelines.embedding.retry_after import seconds_to_wait
from tests.acceptance.embedding_server import DIMENSION, EmbeddingServer, Scripted, vector_of

KEY = "sk-a-key-that-nobody-may-see"
NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


async def test_a_first_call_learns_the_dimension_and_later_ones_bring_vectors(server: EmbeddingServer) -> None:
    embedder = await open_embedder(EmbedderChoice(name="openai:some/model", url=f"{server.url}/", key=KEY))
    assert embedder
    try:
        assert (embedder.provider, embedder.model, embedder.dimension) == ("openai", "some/model", DIMENSION)
        answers = await Texts(embedder).embed(["one", "two"])
        assert answers == [Embedded(vector=vector_of("one")), Embedded(vector=vector_of("two"))]
        assert {(seen.model, seen.authorization) for seen in server.seen} == {("some/model", f"Bearer {KEY}")}
    finally:
        await embedder.close()


async def test_without_a_key_no_authorization_is_sent(server: EmbeddingServer) -> None:
    embedder = await open_embedder(EmbedderChoice(name="openai:model", url=server.url))
    assert embedder
    await embedder.close()
    assert server.seen[0].authorization is None


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("3", 3.0),
        (" 2.5 ", 2.5),
        ("-1", 0.0),
        ("1e9", 100.0),
        ("inf", 100.0),
        ("nan", None),
        ("soon", None),
        (format_datetime(NOW + timedelta(seconds=30), usegmt=True), 30.0),
        (format_datetime(NOW - timedelta(days=1), usegmt=True), 0.0),
        (format_datetime(NOW + timedelta(days=1), usegmt=True), 100.0),
        ("Tue, 01 Jan 2030 00:00:20", 20.0),
    ],
)
def test_retry_after_may_be_a_number_or_a_date(header: str | None, seconds: float | None) -> None:
    assert seconds_to_wait(header, 100.0, NOW) == seconds


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        (EmbedderChoice(name="openai:model"), "needs a key"),
        (EmbedderChoice(name="openai:model", key=""), "empty or holds what no key can"),
        (EmbedderChoice(name="openai:model", key="two\nlines"), "9 characters, not shown"),
        (EmbedderChoice(name="openai:model", key="clé"), "3 characters, not shown"),
        (EmbedderChoice(name="openai:model", url="localhost:1234", key=KEY), "not the address"),
        (EmbedderChoice(name="openai:model", url="ftp://localhost/v1", key=KEY), "not the address"),
        (EmbedderChoice(name="openai:model", url="http://localhost/v1?x=1", key=KEY), "not the address"),
        (EmbedderChoice(name="openai:model", url="http://me:secret@localhost/v1", key=KEY), "user or a password"),
    ],
)
async def test_what_cannot_work_is_refused_before_anything_is_sent(choice: EmbedderChoice, told: str) -> None:
    with pytest.raises(EmbedderMisuse, match=told) as failure:
        await open_embedder(choice)
    assert failure.value.hint
    assert KEY not in str(failure.value) and "secret" not in str(failure.value)


@pytest.mark.parametrize(
    "scripted",
    [
        Scripted(status=400, body=b'{"error": {"message": "model not found"}}'),
        Scripted(status=404, body=b'{"error": {"message": "model not found"}}'),
        Scripted(change=lambda data: [data[0] | {"embedding": []}]),
        Scripted(change=lambda data: [data[0] | {"embedding": [0.0, 0.0]}]),
    ],
)
async def test_a_model_that_makes_no_vectors_is_refused_at_the_start(
    server: EmbeddingServer, scripted: Scripted
) -> None:
    server.script.append(scripted)
    with pytest.raises(EmbedderMisuse, match="model"):
        await open_embedder(EmbedderChoice(name="openai:model", url=server.url))


async def test_ollama_is_asked_at_its_own_address_under_its_own_name(server: EmbeddingServer) -> None:
    bare = server.url.removesuffix("/v1")
    for url in (bare, f"{bare}/", server.url):
        embedder = await open_embedder(EmbedderChoice(name="ollama:all-minilm", url=url))
        assert embedder
        await embedder.close()
        assert (embedder.provider, embedder.model, embedder.dimension) == ("ollama", "all-minilm", DIMENSION)
    assert [seen.model for seen in server.seen] == ["all-minilm"] * 3


async def test_a_model_of_another_provider_is_asked_where_the_graph_has_its_vectors(server: EmbeddingServer) -> None:
    """Elsewhere its name is most likely a slip."""
    named = EmbedderChoice(name="gemini:embedding-001", url=server.url)
    with pytest.raises(EmbedderMisuse, match="there is no embedder"):
        await open_embedder(named)
    with pytest.raises(EmbedderMisuse, match="vectors of this graph are of gemini:embedding-001") as refused:
        await open_embedder(EmbedderChoice(name="gemini:embedding-001", of_graph=True))
    assert "--embedder-url" in refused.value.hint
    embedder = await open_embedder(replace(named, of_graph=True))
    assert embedder
    await embedder.close()
    assert (embedder.provider, embedder.model) == ("gemini", "embedding-001")


@pytest.mark.parametrize(("provider", "hint"), [("openai", "--embedder-url URL"), ("ollama", "ollama serve")])
async def test_an_endpoint_that_is_not_there_is_told_at_once(provider: str, hint: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    waited: list[float] = []

    async def pause(seconds: float) -> None:
        waited.append(seconds)

    with pytest.raises(EndpointRefused, match=f"nothing answers at {url}") as refused:
        await open_endpoint("model", provider=provider, url=url, key=None, pause=pause)
    assert hint in refused.value.hint
    assert waited == []


async def test_a_model_that_ollama_does_not_have_is_told_with_the_command_that_fetches_it(
    server: EmbeddingServer,
) -> None:
    server.script.append(Scripted(status=404, body=b'{"error": {"message": "model not found, try pulling it"}}'))
    with pytest.raises(EmbedderMisuse, match="try pulling it") as refused:
        await open_embedder(EmbedderChoice(name="ollama:absent", url=server.url))
    assert "ollama pull absent" in refused.value.hint
