"""An OpenAI-compatible endpoint: every answer a server can give has one meaning, and the key stays a secret."""

import asyncio
import json
import logging
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pipelines.embedding import (
    Embedded,
    EmbedderChoice,
    EmbedderError,
    EmbedderMisuse,
    EmbedderUnavailable,
    TextRefused,
    Texts,
    WrongVector,
)
from pipelines.embedding.endpoint import Endpoint, Patience, open_endpoint
from tests.acceptance.embedding_server import DIMENSION, EmbeddingServer, Scripted, vector_of

KEY = "sk-a-key-that-nobody-may-see"
BUSY = Scripted(status=429)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture
def pauses() -> list[float]:
    """How long the endpoint wanted to wait; nobody really waits."""
    return []


@asynccontextmanager
async def connected(server: EmbeddingServer, pauses: list[float], **patience: Any) -> AsyncIterator[Endpoint]:
    async def note(seconds: float) -> None:
        pauses.append(seconds)

    endpoint = await open_endpoint("model", url=server.url, key=KEY, patience=Patience(**patience), pause=note)
    server.forget()
    try:
        yield endpoint
    finally:
        await endpoint.close()


@pytest.fixture
async def endpoint(server: EmbeddingServer, pauses: list[float]) -> AsyncIterator[Endpoint]:
    async with connected(server, pauses) as endpoint:
        yield endpoint


async def one(endpoint: Endpoint, text: str = "a text") -> Embedded | EmbedderError:
    [answer] = await Texts(endpoint).embed([text])
    return answer


async def test_vectors_are_put_into_the_order_of_the_texts(server: EmbeddingServer, endpoint: Endpoint) -> None:
    server.script.append(Scripted(change=lambda data: data[::-1]))
    rows = await endpoint.embed(["a", "b", "c"])
    assert [row.tolist() for row in rows] == [vector_of(text) for text in "abc"]


async def test_vectors_without_an_index_are_in_the_order_of_the_texts(
    server: EmbeddingServer, endpoint: Endpoint
) -> None:
    server.script.append(Scripted(change=lambda data: [{"embedding": item["embedding"]} for item in data]))
    rows = await endpoint.embed(["a", "b"])
    assert [row.tolist() for row in rows] == [vector_of("a"), vector_of("b")]


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
async def test_a_busy_server_is_asked_again(
    server: EmbeddingServer, endpoint: Endpoint, pauses: list[float], status: int
) -> None:
    server.script += [Scripted(status=status), Scripted(status=status)]
    assert isinstance(await one(endpoint), Embedded)
    assert len(server.seen) == 3 and len(pauses) == 2
    assert 0.25 <= pauses[0] <= 0.5 <= pauses[1] <= 1.0


async def test_retry_after_is_obeyed(server: EmbeddingServer, endpoint: Endpoint, pauses: list[float]) -> None:
    server.script += [
        Scripted(status=429, headers={"Retry-After": "7"}),
        Scripted(status=503, headers={"Retry-After": "0.25"}),
    ]
    assert isinstance(await one(endpoint), Embedded)
    assert pauses == [7.0, 0.25]


async def test_a_long_retry_after_is_told_and_not_waited_for(
    server: EmbeddingServer, endpoint: Endpoint, pauses: list[float]
) -> None:
    server.script.append(Scripted(status=429, headers={"Retry-After": "99999999"}))
    answer = await one(endpoint)
    assert isinstance(answer, EmbedderUnavailable) and answer.transient
    assert answer.retry_after == 600.0
    assert pauses == []


async def test_a_server_that_stays_busy_is_given_up(
    server: EmbeddingServer, endpoint: Endpoint, pauses: list[float]
) -> None:
    server.script += [BUSY] * 5
    answer = await one(endpoint)
    assert isinstance(answer, EmbedderUnavailable) and answer.retry_after is None
    assert len(server.seen) == 5 and len(pauses) == 4


def impatient(url: str, seconds: float = 30.0) -> Endpoint:
    """One that makes a single try and was never connected."""
    endpoint = Endpoint("model", url=url, key=None, patience=Patience(seconds=seconds, tries=1))
    endpoint.dimension = DIMENSION
    return endpoint


async def test_a_refused_connection_is_transient() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))  # bound and not listening: nobody else can answer there
        endpoint = impatient(f"http://127.0.0.1:{deaf.getsockname()[1]}/v1")
        answer = await one(endpoint)
        await endpoint.close()
    assert isinstance(answer, EmbedderUnavailable) and answer.transient
    assert answer.message.endswith("/v1: Connection refused") and "--embedder-url" in answer.hint


async def test_a_server_that_does_not_answer_in_time_is_unavailable(server: EmbeddingServer) -> None:
    never = threading.Event()
    server.script.append(Scripted(until=never))
    endpoint = impatient(server.url, seconds=0.05)
    answer = await one(endpoint)
    await endpoint.close()
    never.set()
    assert isinstance(answer, EmbedderUnavailable)
    assert "did not answer within 0.05 s" in answer.message


@pytest.mark.parametrize(
    "scripted",
    [
        Scripted(cut=True),
        Scripted(body=b"<html><body>a proxy says hello</body></html>"),
        Scripted(body=b""),
        Scripted(body=b"[]"),
        Scripted(body=b'{"data": null}'),
        Scripted(body=b'{"data": [{"index": [], "embedding": [1]}]}'),
        Scripted(body=b'{"data": [1, 2]}'),
        Scripted(body=b"\xff\xfe\x00"),
        Scripted(change=lambda data: data[:1]),
        Scripted(change=lambda data: data * 2),
        Scripted(change=lambda data: [*data, data[0] | {"index": 2}]),
        Scripted(change=lambda data: [item | {"index": 0} for item in data]),
    ],
)
async def test_an_answer_that_is_not_a_list_of_vectors_is_asked_for_again(
    server: EmbeddingServer, endpoint: Endpoint, scripted: Scripted
) -> None:
    server.script.append(scripted)
    rows = await endpoint.embed(["a", "b"])
    assert [row.tolist() for row in rows] == [vector_of("a"), vector_of("b")]
    assert len(server.seen) == 2


async def test_an_answer_that_stays_wrong_says_what_came(server: EmbeddingServer, endpoint: Endpoint) -> None:
    server.script += [Scripted(body=b"<html>a proxy\nsays hello</html>")] * 5
    answer = await one(endpoint)
    assert isinstance(answer, EmbedderUnavailable)
    assert "<html>a proxy says hello</html>" in answer.message


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ([1.0] * (DIMENSION - 1), f"has {DIMENSION - 1} numbers, expected {DIMENSION}"),
        ([1.0] * (DIMENSION + 1), f"has {DIMENSION + 1} numbers"),
        ([], "has 0 numbers"),
        ([float("nan")] * DIMENSION, "not a finite number"),
        ([float("inf")] + [1.0] * (DIMENSION - 1), "not a finite number"),
        ([1e39] + [1.0] * (DIMENSION - 1), "not a finite number"),
        ([10**400] + [1.0] * (DIMENSION - 1), "has 0 numbers"),
        ([0.0] * DIMENSION, "is zero"),
        ([1e-30] * DIMENSION, "too short"),
        ([1e30] * DIMENSION, "too long"),
        (["a"] * DIMENSION, "has 0 numbers"),
        ([[1.0]] * DIMENSION, "has 0 numbers"),
        ("AAAA", "has 0 numbers"),
        (None, "has 0 numbers"),
    ],
)
async def test_a_wrong_vector_is_the_fault_of_its_text_alone(
    server: EmbeddingServer, endpoint: Endpoint, numbers: Any, told: str
) -> None:
    server.script.append(Scripted(change=lambda data: [data[0] | {"embedding": numbers}, data[1]]))
    texts = Texts(endpoint)
    wrong, right = await texts.embed(["the first", "second"])
    assert isinstance(wrong, WrongVector) and not wrong.transient
    assert told in wrong.message
    assert right == Embedded(vector=vector_of("second"))
    assert texts.embedded == 1


async def test_a_refused_text_does_not_spoil_the_others(server: EmbeddingServer, endpoint: Endpoint) -> None:
    server.refuses = ("poison",)
    asked = [f"text {number}" for number in range(20)] + ["poison one"] + [f"more {number}" for number in range(20)]
    texts = Texts(endpoint)
    answers = dict(zip(asked, await texts.embed(asked), strict=True))
    refused = answers.pop("poison one")
    assert isinstance(refused, TextRefused) and not refused.transient
    assert "status 400 for this input" in refused.message
    assert all(answer == Embedded(vector=vector_of(text)) for text, answer in answers.items())
    assert texts.embedded == 40
    assert len(server.seen) <= 1 + 2 * 6, "the bad text is found by halves"


async def test_a_text_that_breaks_the_server_does_not_spoil_the_others(
    server: EmbeddingServer, endpoint: Endpoint
) -> None:
    server.breaks_on = ("poison",)
    broken, *others = await Texts(endpoint).embed(["poison", *(f"text {number}" for number in range(7))])
    assert isinstance(broken, EmbedderUnavailable) and broken.transient
    assert others == [Embedded(vector=vector_of(f"text {number}")) for number in range(7)]


async def test_a_server_that_breaks_on_everything_is_not_asked_for_each_text(
    server: EmbeddingServer, endpoint: Endpoint
) -> None:
    server.breaks_on = ("text",)
    answers = await Texts(endpoint).embed([f"text {number}" for number in range(50)])
    assert all(isinstance(answer, EmbedderUnavailable) for answer in answers)
    assert len(server.seen) == 3 * 2, "all of them, one half, the other; each asked twice"


@pytest.mark.parametrize("status", [401, 403, 404, 301, 405])
async def test_a_wrong_configuration_stops_everything(server: EmbeddingServer, endpoint: Endpoint, status: int) -> None:
    server.script += [Scripted(status=status)] * 2
    with pytest.raises(EmbedderMisuse, match=f"answered {status}") as failure:
        await Texts(endpoint).embed([f"text {number}" for number in range(1000)])
    assert failure.value.hint and failure.value.exit_code == 2
    assert len(server.seen) <= 2, "no more than were under way"


async def test_an_account_without_credit_is_not_busy(server: EmbeddingServer, endpoint: Endpoint) -> None:
    body = json.dumps({"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}).encode()
    server.script.append(Scripted(status=429, body=body))
    with pytest.raises(EmbedderMisuse, match="You exceeded your quota"):
        await one(endpoint)
    assert len(server.seen) == 1


async def test_requests_are_bounded_in_texts_and_in_characters_and_at_once(
    server: EmbeddingServer, endpoint: Endpoint
) -> None:
    short = [f"short {number}" for number in range(200)]
    long = [f"{number} " * 2000 for number in range(30, 60)]
    assert all(isinstance(answer, Embedded) for answer in await Texts(endpoint).embed([*short, *long]))
    assert max(len(seen.texts) for seen in server.seen) == endpoint.appetite.texts
    assert max(sum(map(len, seen.texts)) for seen in server.seen) <= endpoint.appetite.characters
    assert len(server.texts) == 230
    assert server.most_at_once <= endpoint.appetite.calls


async def test_a_long_text_is_sent_in_pieces_and_nothing_is_lost(server: EmbeddingServer, endpoint: Endpoint) -> None:
    text = "\n\n".join(f"Paragraph {number} of a long text. " * 20 for number in range(40))
    answer = await one(endpoint, text)
    assert isinstance(answer, Embedded) and len(answer.pieces) > 1
    assert [piece.vector for piece in answer.pieces] == [vector_of(piece.text) for piece in answer.pieces]
    assert max(len(piece.text) for piece in answer.pieces) <= 8_000
    assert "".join("".join(piece.text for piece in answer.pieces).split()) == "".join(text.split())
    assert sum(number * number for number in answer.vector) == pytest.approx(1.0)


ECHO = Scripted(status=418, body=json.dumps({"error": f"{KEY} is a strange key"}).encode())


@pytest.mark.parametrize(
    "scripted",
    [
        Scripted(status=401, body=f"Incorrect API key provided: {KEY}".encode()),
        Scripted(status=400, body=f"bad request with {KEY}".encode()),
        Scripted(status=503, body=f"busy, {KEY}".encode()),
        Scripted(status=500, body=f"broken by {KEY}".encode()),
        Scripted(body=f"<html>{KEY}".encode()),
        ECHO,
    ],
)
async def test_the_key_is_in_no_error_no_log_and_no_repr(
    server: EmbeddingServer, endpoint: Endpoint, scripted: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.script += [scripted] * 5
    try:
        failure: object = await one(endpoint)
    except EmbedderMisuse as misuse:
        failure = misuse
    assert isinstance(failure, EmbedderError | EmbedderMisuse)
    shown = f"{failure} {failure.hint} {failure!r} {endpoint!r} {EmbedderChoice(key=KEY)!r} {caplog.text}"
    assert KEY not in shown
    assert server.seen[0].authorization == f"Bearer {KEY}"


async def test_a_cancelled_call_leaves_the_text_to_those_who_wait_for_it(
    server: EmbeddingServer, endpoint: Endpoint
) -> None:
    held = threading.Event()
    server.script.append(Scripted(until=held))
    texts = Texts(endpoint)
    first = asyncio.create_task(texts.embed(["shared"]))
    await server.arrival()
    second = asyncio.create_task(texts.embed(["shared", "own"]))
    await server.arrival()  # its own text is asked for only after it has found the shared one under way
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    held.set()
    assert await second == [Embedded(vector=vector_of("shared")), Embedded(vector=vector_of("own"))]
    assert server.texts == ["shared", "own", "shared"]


async def test_a_failure_reaches_everyone_who_waits_for_the_text(server: EmbeddingServer, endpoint: Endpoint) -> None:
    held = threading.Event()
    server.refuses = ("shared",)
    server.script.append(Scripted(until=held))
    texts = Texts(endpoint)
    calls = [asyncio.create_task(texts.embed(["shared"]))]
    await server.arrival()
    calls += [asyncio.create_task(texts.embed(["shared", f"own {number}"])) for number in range(2)]
    for _ in calls[1:]:
        await server.arrival()  # its own text is asked for only after it has found the shared one under way
    held.set()
    answers = await asyncio.gather(*calls)
    assert [type(answer[0]) for answer in answers] == [TextRefused] * 3
    assert [answer[1] for answer in answers[1:]] == [Embedded(vector=vector_of(f"own {n}")) for n in range(2)]
    assert server.texts.count("shared") == 1
