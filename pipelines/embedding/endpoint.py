"""Models behind an HTTP endpoint that speaks as OpenAI's does: POST {url}/embeddings.

Owns what each answer of such a server means. A server that is busy is waited for as it asks, within limits; what would
take longer is told to the caller. The key is in no error, no log and no repr, also where the server repeats it.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from pipelines.embedding import vectors
from pipelines.embedding.embedder import Appetite
from pipelines.embedding.errors import (
    EmbedderError,
    EmbedderMisuse,
    EmbedderUnavailable,
    EndpointRefused,
    RequestFailed,
    TextRefused,
)
from pipelines.embedding.retry_after import seconds_to_wait
from pipelines.embedding.splitting import CharacterSplitter

if TYPE_CHECKING:
    from pipelines.embedding.vectors import Row

OPENAI = "https://api.openai.com/v1"
OLLAMA = "http://localhost:11434/v1"
_READS = 8_000
_LARGEST_ANSWER = 256 * 1024**2
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_BUSY = {408, 425, 429, 502, 503, 504}
_REFUSED = {400, 413, 422}
_KEY_HINT = "set GRAPHMILL_EMBEDDER_KEY (or OPENAI_API_KEY) to a key that this endpoint accepts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a request may take, how often it is made again, and how long all pauses in between may be together."""

    seconds: float = 120.0
    tries: int = 5
    pauses: float = 60.0
    first_pause: float = 0.5
    longest_retry_after: float = 600.0


class Endpoint:
    appetite = Appetite(texts=64, characters=100_000, calls=2)

    def __init__(
        self,
        model: str,
        *,
        provider: str = "openai",
        url: str,
        key: str | None,
        patience: Patience,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.provider = provider
        self.model = model
        self.dimension = 0
        self._url = url
        self._key = key
        self._patience = patience
        self._pause = pause
        self._random = Random()  # noqa: S311 - spreads requests, guards nothing
        self._splitter = CharacterSplitter(_READS)
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=patience.seconds, sock_connect=min(10.0, patience.seconds)),
            headers={"Authorization": f"Bearer {key}"} if key else {},
            auto_decompress=True,
        )

    def __repr__(self) -> str:
        return f"Endpoint(model={self.model!r}, url={self._url!r})"

    async def learn_dimension(self) -> None:
        """Ask once: what comes back is as long as every vector must be."""
        try:
            [row] = await self.embed(["how many numbers"])
        except (TextRefused, RequestFailed) as error:
            raise EmbedderMisuse(
                f"{self._where} does not embed with {self.model}: {error.message}", hint=self._name_hint
            ) from error
        self.dimension = len(row)
        if found := vectors.flaw(row, self.dimension or 1):
            raise EmbedderMisuse(
                f"the vector that {self._where} makes with {self.model} {found}", hint="check the model's name"
            )

    async def embed(self, texts: Sequence[str]) -> "list[Row]":
        waited = 0.0
        for attempt in count(1):
            try:
                return await self._request(texts)
            except EmbedderUnavailable as error:
                pause = self._next_pause(attempt, error.retry_after)
                # What broke on these texts is better tried with fewer of them.
                tries = min(2, self._patience.tries) if isinstance(error, RequestFailed) else self._patience.tries
                if attempt >= tries or waited + pause > self._patience.pauses:
                    raise
                # Before the first answer a refused connection is a wrong address, or a server that was not started.
                if isinstance(error, EndpointRefused) and not self.dimension:
                    raise
            waited += pause
            await self._pause(pause)
        raise AssertionError("the last try answers or raises")

    async def pieces(self, texts: Sequence[str]) -> list[list[str]]:
        if all(len(text) <= _READS for text in texts):
            return [[text] for text in texts]
        return await asyncio.to_thread(self._splitter.pieces, texts)

    async def close(self) -> None:
        await self._session.close()

    @property
    def _where(self) -> str:
        return f"{self._url}/embeddings"

    def _next_pause(self, attempt: int, asked: float | None) -> float:
        growing = self._patience.first_pause * 2.0 ** (attempt - 1) * self._random.uniform(0.5, 1.0)
        return growing if asked is None else max(asked, 0.0)

    async def _request(self, texts: Sequence[str]) -> "list[Row]":
        try:
            async with self._session.post(
                self._where,
                json={"model": self.model, "input": list(texts)},
                allow_redirects=False,
                proxy=_proxy(self._url),
            ) as response:
                body = await _body(response)
                if response.status != 200:
                    raise self._failure(response, body, len(texts))
        except TimeoutError as error:
            raise EmbedderUnavailable(f"{self._where} did not answer within {self._patience.seconds:g} s") from error
        except aiohttp.ClientConnectorError as error:
            # asyncio puts the address in the place of the reason.
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.os_error
            raise EndpointRefused(f"nothing answers at {self._url}: {reason}", hint=self._address_hint) from error
        except (aiohttp.ClientError, OSError) as error:
            raise EmbedderUnavailable(
                f"{self._where} cannot be reached, or broke off: {self._said(str(error) or type(error).__name__)}",
                hint="check that it is running and that --embedder-url is right",
            ) from error
        return self._rows(body, len(texts))

    def _rows(self, body: bytes, expected: int) -> "list[Row]":
        """The vectors in the order of the texts, whatever order they came in."""
        try:
            data = json.loads(body)["data"]
            by_index = {item.get("index", place): item["embedding"] for place, item in enumerate(data)}
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise EmbedderUnavailable(
                f"{self._where} answered what is not a list of embeddings: {self._said(body)}",
                hint="check that --embedder-url is the endpoint's address up to /embeddings",
            ) from error
        if len(data) != expected or set(by_index) != set(range(expected)):
            raise EmbedderUnavailable(f"{self._where} answered {len(data)} vectors for {expected} texts")
        return [vectors.row(by_index[place]) for place in range(expected)]

    def _failure(self, response: aiohttp.ClientResponse, body: bytes, asked: int) -> EmbedderError | EmbedderMisuse:
        status = response.status
        told = f"{self._where} answered {status}"
        said = self._said(_message(body))
        if status in (401, 403):
            # Some servers repeat the key, or part of it, in what they say here.
            return EmbedderMisuse(f"{told}: the key is {'not accepted' if self._key else 'missing'}", hint=_KEY_HINT)
        if status == 429 and _code(body) == "insufficient_quota":
            return EmbedderMisuse(f"{told}: {said}", hint="the account has no credit left; add some, or use another")
        if status in _BUSY:
            retry_after = seconds_to_wait(response.headers.get("Retry-After"), self._patience.longest_retry_after)
            return EmbedderUnavailable(f"{told}: {said}", retry_after=retry_after)
        if status in _REFUSED:
            return TextRefused(f"{told} to {asked} texts: {said}" if asked > 1 else f"{told}: {said}")
        if status >= 500:
            return RequestFailed(f"{told}: {said}")
        return EmbedderMisuse(f"{told}: {said}", hint=self._name_hint)

    @property
    def _name_hint(self) -> str:
        if self.provider == "ollama":
            return f"fetch the model with: ollama pull {self.model}; or check --embedder and --embedder-url"
        return f"check the model's name after {self.provider}: and --embedder-url"

    @property
    def _address_hint(self) -> str:
        if self.provider == "ollama":
            return "start it with: ollama serve; or run the same command with --embedder-url http://HOST:11434/v1"
        return "start the server, or run the same command with --embedder-url URL, its address up to /v1"

    def _said(self, text: str | bytes) -> str:
        """What a server said, short, on one line and without the key."""
        shown = text.decode(errors="replace") if isinstance(text, bytes) else text
        if self._key:
            shown = shown.replace(self._key, "…")
        shown = " ".join(shown[:2_000].split())
        return (shown[:200] + "…" if len(shown) > 200 else shown) or "nothing"


async def open_endpoint(
    model: str,
    *,
    provider: str = "openai",
    url: str | None,
    key: str | None,
    patience: Patience | None = None,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Endpoint:
    address = _address(url, provider)
    if provider == "ollama" and not url:
        key = None  # it needs none, and what is set is most likely OpenAI's
    _check_key(key, address)
    endpoint = Endpoint(model, provider=provider, url=address, key=key, patience=patience or Patience(), pause=pause)
    try:
        await endpoint.learn_dimension()
    except BaseException:
        await endpoint.close()
        raise
    return endpoint


def _address(url: str | None, provider: str) -> str:
    if not url:
        return OLLAMA if provider == "ollama" else OPENAI
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise EmbedderMisuse("the embedder's URL holds a user or a password", hint=_KEY_HINT)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise EmbedderMisuse(
            f"{url!r} is not the address of an embedding endpoint",
            hint=f"write it like {OPENAI} or http://HOST:PORT/v1",
        )
    address = url.rstrip("/").removesuffix("/embeddings")
    return f"{address}/v1" if provider == "ollama" and parts.path in ("", "/") else address


def _check_key(key: str | None, address: str) -> None:
    if key is None and address == OPENAI:
        raise EmbedderMisuse(
            "OpenAI's endpoint needs a key and there is none",
            hint="set GRAPHMILL_EMBEDDER_KEY (or OPENAI_API_KEY), or run the same command with --embedder-url URL if "
            "another endpoint serves the model",
        )
    if key is not None and not (key and key.isascii() and key.isprintable() and " " not in key):
        raise EmbedderMisuse(
            f"the embedder's key ({len(key)} characters, not shown) is empty or holds what no key can",
            hint="look for a line break, a space or a quotation mark that was copied with it",
        )


def _proxy(url: str) -> str | None:
    parts = urlsplit(url)
    host = parts.hostname or ""
    return None if host in _LOOPBACK or proxy_bypass(host) else getproxies().get(parts.scheme)


async def _body(response: aiohttp.ClientResponse) -> bytes:
    """All of it, but no more than any list of vectors can be."""
    read = bytearray()
    async for part in response.content.iter_chunked(1 << 16):
        read += part
        if len(read) > _LARGEST_ANSWER:
            raise aiohttp.ClientPayloadError(f"the answer is longer than {_LARGEST_ANSWER} bytes")
    return bytes(read)


def _error(body: bytes) -> Any:
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found.get("error", found) if isinstance(found, dict) else None


def _message(body: bytes) -> str | bytes:
    error = _error(body)
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else body


def _code(body: bytes) -> Any:
    error = _error(body)
    return error.get("code") if isinstance(error, dict) else None
