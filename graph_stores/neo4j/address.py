"""Reads a server's URL. Refuses a password in it: URLs end up in process lists, histories and logs."""

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from graph_stores.errors import Misuse

_FORM = "neo4j://HOST[:PORT][/DATABASE]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server is; `shown` is what people get to see, `database` None for the server's own default."""

    uri: str
    shown: str
    user: str | None
    database: str | None

    @classmethod
    def parse(cls, url: str) -> "Address":
        scheme, _, rest = url.partition("://")
        # Looked at before the URL is taken apart: a password with a slash in it would be read as something else.
        if ":" in rest.rpartition("@")[0]:
            raise Misuse(
                f"a {scheme}:// URL must not hold a password",
                hint="give the password in the environment variable NEO4J_PASSWORD",
            )
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        database = unquote(parts.path.strip("/"))
        if not _has_valid_host(url) or "/" in database or parts.query or parts.fragment:
            raise Misuse(f"{url!r} does not name a server", hint=f"write {_FORM}")
        user = unquote(parts.username) if parts.username else None
        shown = f"{scheme}://{f'{parts.username}@' if user else ''}{host}{f'/{database}' if database else ''}"
        return cls(uri=f"{scheme}://{host}", shown=shown, user=user, database=database or None)


def _has_valid_host(url: str) -> bool:
    parts = urlsplit(url)
    try:
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
