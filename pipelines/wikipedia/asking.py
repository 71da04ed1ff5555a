"""One request to a wiki's api.php, asked until there is an answer that is one.

Owns what each way of not answering means: a wiki that is busy or broken is left alone as it asks, by everybody who
shares its limits, and asked again within them; what would take longer is told to the caller. Nothing but a JSON object
without an error is ever handed on. Knows no pages.
"""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from graph_stores.errors import GraphmillError, Misuse
from pipelines.embedding.retry_after import seconds_to_wait
from pipelines.wikipedia.model import ContactMissing, WikiUnavailable
from pipelines.wikipedia.politeness import LONGEST_PAUSE, Limits, Politeness, Sharing, Turns, folder_of, is_loopback

Answer = dict[str, Any]

_LONGEST_URL = 7_000
_LARGEST_ANSWER = 64 * 1024**2
_WORTH_SAYING = 3.0
_WIKIMEDIA = [
    "wikipedia.org",
    "wikimedia.org",
    "wikidata.org",
    "wiktionary.org",
    "wikibooks.org",
    "wikinews.org",
    "wikiquote.org",
    "wikisource.org",
    "wikiversity.org",
    "wikivoyage.org",
    "mediawiki.org",
    "wikifunctions.org",
    "wikimediafoundation.org",
    "wmcloud.org",
    "wmflabs.org",
    "toolforge.org",
]
_CONTACT = re.compile(r"(?:[^@\s()<>]+@[^@\s()<>]+\.[^@\s()<>]+|https?://[^\s()<>]+)", re.ASCII)
_MOVED = {301, 302, 303, 307, 308}
_TOO_MUCH = {413, 414}
_BUSY = {408, 425, 429}
_BUSY_CODES = {"maxlag", "ratelimited", "readonly", "timeout"}
_TOO_MANY_CODES = {"toobig", "toomanyvalues", "too-many-titles"}
_ADDRESS_HINT = "give --api-url the address of the wiki's api.php, for example https://en.wikipedia.org/w/api.php"


class WikiRefused(Misuse):
    """The wiki, or what is at its address, will not answer this however often it is asked."""

    code = "wiki_refused"
    said: str | None = None
    """The wiki's own code for it."""


class TooMuchAtOnce(GraphmillError):
    """The same with fewer titles may be answered."""

    code = "wiki_too_much"


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a wiki that does not answer is waited for, and how long an answer may take."""

    seconds: float = 60.0
    first_pause: float = 5.0
    answer: float = 60.0


_TOO_MANY_REQUESTS = 429


class _Busy(Exception):
    def __init__(self, reason: str, retry_after: float | None = None, *, is_rate_limit: bool = False) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.pause = 0.0
        self.is_rate_limit = is_rate_limit


class _Moved(Exception):
    pass


class Asking:
    """A wiki's address and the way it is asked. One connection pool; closed by its owner."""

    def __init__(
        self,
        url: str,
        *,
        contact: str | None,
        limits: Callable[[str], Limits | None],
        say: Callable[[str], None],
        cache: Path | None,
        patience: Patience | None,
        sharing: Sharing | None = None,
        clock: Callable[[], float] = time.time,
        nap: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._contact = contact
        self._limits = limits
        self._say = say
        self._cache = cache
        self._sharing = sharing
        self._clock = clock
        self._nap = nap
        self._random = Random()  # noqa: S311 - spreads requests, guards nothing
        self._out = False
        self._known = False
        self._asked_patience = patience
        self._go_to(url)
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=self._patience.answer, sock_connect=min(10.0, self._patience.answer)),
            headers={"User-Agent": _user_agent(contact)},
            connector=aiohttp.TCPConnector(limit=16),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    def _go_to(self, url: str) -> None:
        self.url = checked_address(url, self._contact)
        parts = urlsplit(self.url)
        self.host = parts.hostname or ""
        loopback = is_loopback(self.host)
        self._patience = self._asked_patience or Patience(first_pause=0.5 if loopback else 5.0)
        self._everywhere = {"format": "json", "formatversion": "2"} | ({} if loopback else {"maxlag": "5"})
        self._turns = self._turns_at(folder_of(self.host, parts.port, self._cache))

    def _turns_at(self, folder: Path) -> Turns:
        machine = Politeness(folder, self._limits(self.host), clock=self._clock, nap=self._nap)
        if self._sharing is None:
            return machine
        return self._sharing(machine, host=folder.name, answer=self._patience.answer, nap=self._nap)

    async def ask(self, parameters: Mapping[str, str]) -> Answer:
        started: float | None = None
        moves = 0
        for attempt in count(1):
            try:
                await self._keep_the_pause(started)
                async with self._turns.turn():
                    answer = await self._request_or_pause({**self._everywhere, **parameters}, attempt)
            except _Moved as moved:
                moves += 1
                if moves > 5:
                    raise self._refused(f"{self.url} leads from one address to the next") from moved
                self._go_to(str(moved))
            except _Busy as busy:
                started = self._clock() if started is None else started
                if self._clock() + busy.pause - started > self._patience.seconds:
                    raise self._unavailable(str(busy), busy.pause, is_rate_limit=busy.is_rate_limit) from busy
                self._tell_of(str(busy), busy.pause)
            else:
                self._answered()
                return answer
        raise AssertionError("the last try answers or raises")

    async def close(self) -> None:
        await self._session.close()

    async def _keep_the_pause(self, started: float | None) -> None:
        """A pause that another process was asked for is this one's too, and too long a one is the caller's."""
        pause = await self._turns.pause()
        waited = 0.0 if started is None else self._clock() - started
        if waited + pause > self._patience.seconds:
            raise self._unavailable(f"{self.host} asked to be left alone", pause, is_rate_limit=True)
        self._tell_of(f"{self.host} asked to be left alone", pause)

    def _next_pause(self, attempt: int, asked: float | None) -> float:
        growing = self._patience.first_pause * 2.0 ** min(attempt - 1, 10) * self._random.uniform(0.8, 1.2)
        # A wiki that says 0 and is busy all the same would otherwise be asked without end.
        return min(growing, LONGEST_PAUSE) if asked is None or (asked <= 0 and attempt > 1) else asked

    def _tell_of(self, reason: str, pause: float) -> None:
        if not self._out and pause >= _WORTH_SAYING:
            self._out = True
            self._say(f"{reason}; waiting {pause:.0f} s")

    def _answered(self) -> None:
        self._known = True
        if self._out:
            self._out = False
            self._say(f"{self.host} answers again")

    def _unavailable(self, reason: str, pause: float, *, is_rate_limit: bool) -> WikiUnavailable:
        error = WikiUnavailable(
            f"{reason}, for longer than {self._patience.seconds:g} s",
            hint="the work goes on where it is when the wiki answers again",
        )
        error.retry_after = pause
        error.is_rate_limit = is_rate_limit
        return error

    def _refused(self, message: str, hint: str = _ADDRESS_HINT) -> WikiRefused:
        return WikiRefused(message, hint=hint)

    async def _request_or_pause(self, parameters: Mapping[str, str], attempt: int) -> Answer:
        """Before the turn ends, so that nobody is given one at a wiki that is known to be busy."""
        try:
            return await self._request(parameters)
        except _Busy as busy:
            busy.pause = self._next_pause(attempt, busy.retry_after)
            await self._turns.wait_until(busy.pause)
            raise

    async def _request(self, parameters: Mapping[str, str]) -> Answer:
        target = f"{self.url}?{urlencode(parameters)}"
        short = len(target) <= _LONGEST_URL
        try:
            async with self._session.request(
                "GET" if short else "POST",
                self.url,
                params=parameters if short else None,
                data=None if short else parameters,
                allow_redirects=False,
                proxy=_proxy(self.url),
            ) as response:
                body = await _body(response)
        except TimeoutError as error:
            raise _Busy(f"{self.host} did not answer within {self._patience.answer:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise _Busy(f"{self.host} cannot be reached, or broke off: {_shown(str(error))}") from error
        self._check_status(response, body, moves=short)
        return self._parsed(response, body)

    def _check_status(self, response: aiohttp.ClientResponse, body: bytes, *, moves: bool) -> None:
        status, told = response.status, f"{self.host} answered {response.status}"
        if status in _MOVED and moves and (where := response.headers.get("Location")):
            raise _Moved(urlunsplit(urlsplit(urljoin(self.url, where))._replace(query="", fragment="")))
        if status in _TOO_MUCH:
            raise TooMuchAtOnce(f"{told} ({len(body)} bytes)")
        if status in _BUSY or status >= 500:
            raise _Busy(told, _retry_after(response), is_rate_limit=status == _TOO_MANY_REQUESTS)
        if status != 200:
            raise self._refused(f"{self.url} answered {status}: {_shown(body)}")

    def _parsed(self, response: aiohttp.ClientResponse, body: bytes) -> Answer:
        try:
            answer = json.loads(body)
        except ValueError as error:
            if not self._known and body.lstrip()[:1] == b"<":
                raise self._refused(f"{self.url} answers with a page for people, not as an api.php does") from error
            raise _Busy(
                f"{self.host} answered what is not JSON, or only a part of it", _retry_after(response)
            ) from error
        if not isinstance(answer, dict):
            raise self._refused(f"{self.url} answers as no api.php does: {_shown(body)}")
        if "error" in answer:
            raise self._failure(answer["error"], response)
        return answer

    def _failure(self, error: Any, response: aiohttp.ClientResponse) -> Exception:
        code = str(error.get("code", "")) if isinstance(error, dict) else ""
        info = _shown(str(error.get("info", "")) if isinstance(error, dict) else str(error))
        if code in _BUSY_CODES or code.startswith("internal_api_error"):
            said = f"{self.host} says {code}: {info}"
            return _Busy(said, _retry_after(response), is_rate_limit=not code.startswith("internal"))
        if code in _TOO_MANY_CODES:
            return TooMuchAtOnce(f"{self.host} says {code}: {info}")
        refused = self._refused(
            f"{self.host} says {code or 'error'}: {info}", "look the code up in the wiki's API help"
        )
        refused.said = code
        return refused


def checked_address(url: str, contact: str | None) -> str:
    """The address of an api.php, where it is one and may be asked; nothing is asked for that."""
    _check_contact(contact)
    address = _address(url)
    host = urlsplit(address).hostname or ""
    if contact is None and is_wikimedia(host):
        raise ContactMissing(
            f"{host} belongs to Wikimedia, which asks everybody who reads it with a program to say how they "
            "can be reached",
            hint="give --contact you@example.org (your address or your page), or contact in graphmill.toml",
        )
    return address


def is_wikimedia(host: str) -> bool:
    name = host.lower().rstrip(".")
    return any(name == family or name.endswith(f".{family}") for family in _WIKIMEDIA)


def _check_contact(contact: str | None) -> None:
    if contact is not None and not (contact.isascii() and contact.isprintable() and _CONTACT.fullmatch(contact)):
        raise Misuse(
            f"the contact {contact!r} is neither an e-mail address nor the address of a page",
            hint="give --contact you@example.org or --contact https://example.org/about-me",
        )


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.query or parts.fragment:
        raise WikiRefused(f"{url!r} is not the address of an api.php", hint=_ADDRESS_HINT)
    if parts.username is not None or parts.password is not None:
        raise WikiRefused("the wiki's address holds a user or a password, which is not supported", hint=_ADDRESS_HINT)
    return url


def _user_agent(contact: str | None) -> str:
    try:
        name = f"graphmill/{version('graphmill')}"
    except PackageNotFoundError:
        name = "graphmill"
    return f"{name} ({contact})" if contact else name


def _proxy(url: str) -> str | None:
    parts = urlsplit(url)
    host = parts.hostname or ""
    return None if is_loopback(host) or proxy_bypass(host) else getproxies().get(parts.scheme)


def _retry_after(response: aiohttp.ClientResponse) -> float | None:
    return seconds_to_wait(response.headers.get("Retry-After"), LONGEST_PAUSE)


async def _body(response: aiohttp.ClientResponse) -> bytes:
    read = bytearray()
    async for part in response.content.iter_chunked(1 << 16):
        read += part
        if len(read) > _LARGEST_ANSWER:
            raise TooMuchAtOnce(f"the answer is longer than {_LARGEST_ANSWER} bytes")
    return bytes(read)


def _shown(text: str | bytes) -> str:
    shown = text.decode(errors="replace") if isinstance(text, bytes) else text
    shown = " ".join(shown[:2_000].split())
    return (shown[:200] + "…" if len(shown) > 200 else shown) or "nothing"
