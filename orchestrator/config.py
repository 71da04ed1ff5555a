"""Where the settings come from: flags beat the environment, which beats `graphmill.toml`, which beats the defaults.

Refuses what it does not know, and secrets where others could read them: a store's URL is shown and listed by `ps`.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

import graph_stores
from graph_stores.errors import AuthenticationFailed, Misuse

FILE_NAME = "graphmill.toml"
KEYS = ("store", "project", "user", "password")
_ENVIRONMENT = {
    "store": "GRAPHMILL_STORE",
    "project": "GRAPHMILL_PROJECT",
    "user": "NEO4J_USERNAME",
    "password": "NEO4J_PASSWORD",
}
_DEFAULTS = {"store": "kuzu:./graph.kuzu", "project": "default", "user": "neo4j"}
_READABLE_BY_OTHERS = 0o044


class InvalidConfig(Misuse):
    """A configuration file that is missing, broken, or says what graphmill does not know."""

    code = "invalid_config"


class SecretExposed(Misuse):
    """A password in a place that other people can see."""

    code = "secret_exposed"


class PasswordMissing(AuthenticationFailed):
    code = "password_missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What one run of graphmill works with; `warnings` are for the person who runs it."""

    store: str
    project: str
    user: str
    password: str | None = field(default=None, repr=False)
    warnings: tuple[str, ...] = ()


def load(
    flags: Mapping[str, str | None], *, file: Path | None, environment: Mapping[str, str], directory: Path
) -> Settings:
    """Put the settings together; `file` is the one asked for by name, else the nearest one at or above `directory`."""
    found = file or _nearest(directory)
    written = _read(found) if found else {}
    exported = {key: environment[name] for key, name in _ENVIRONMENT.items() if environment.get(name)}
    given = {key: value for key, value in flags.items() if value is not None}
    values = _DEFAULTS | written | exported | given
    if not values["project"].strip():
        raise Misuse("the project has no name", hint="leave --project out to use the project called default")
    return Settings(
        store=_checked_url(values["store"]),
        project=values["project"],
        user=values["user"],
        password=values.get("password"),
        warnings=_warnings(found) if found and "password" in written else (),
    )


def _nearest(directory: Path) -> Path | None:
    """The file at or above the directory; one that a stranger put in a shared place (/tmp) is not trusted unasked."""
    for place in (directory, *directory.parents):
        file = place / FILE_NAME
        if not file.is_file():
            continue
        if file.stat().st_uid not in (os.getuid(), place.stat().st_uid, 0):
            raise InvalidConfig(
                f"{file} belongs to another user and would be used unasked", hint=f"if you trust it: --config {file}"
            )
        return file
    return None


def _read(file: Path) -> dict[str, str]:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as cause:
        raise InvalidConfig(f"there is no configuration file {file}", hint="check the path after --config") from cause
    except OSError as cause:
        raise InvalidConfig(f"cannot read {file}: {cause.strerror}", hint="check the path after --config") from cause
    except UnicodeDecodeError as cause:
        raise InvalidConfig(f"{file} is not a text file in UTF-8", hint=_expected()) from cause
    except tomllib.TOMLDecodeError as cause:
        raise InvalidConfig(f"{file} is not valid TOML: {cause}", hint=_expected()) from cause
    for key, value in document.items():
        _check_entry(file, key, value)
    if "store" in document:
        document["store"] = _beside(document["store"], file)
    return document


def _check_entry(file: Path, key: str, value: object) -> None:
    if key not in KEYS:
        near = get_close_matches(key, KEYS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(KEYS)}"
        raise InvalidConfig(f"{file} has an unknown key {key!r}", hint=hint)
    if not isinstance(value, str) or not value:
        kind = "empty" if value == "" else f"a {type(value).__name__}"
        raise InvalidConfig(f"{key} in {file} is {kind}, expected a text", hint=f'write it as {key} = "…"')


def _expected() -> str:
    return f'expected lines like store = "{_DEFAULTS["store"]}"; the keys are {", ".join(KEYS)}'


def _beside(url: str, file: Path) -> str:
    """A relative path in the file means: relative to the file, wherever graphmill is started."""
    scheme, colon, path = url.partition(":")
    if not path or path.startswith("~") or not graph_stores.is_embedded(url):
        return url
    return f"{scheme}{colon}{file.absolute().parent / path}"


def _checked_url(url: str) -> str:
    # Anything with an @ is refused before it can be shown: a password may itself hold a colon or a slash.
    if "@" in url and not graph_stores.is_embedded(url):
        raise SecretExposed(
            "a store's URL must hold neither user nor password: others can read it in the list of processes",
            hint="set NEO4J_USERNAME and NEO4J_PASSWORD, or let graphmill ask for the password",
        )
    graph_stores.scheme_of(url)
    return url


def _warnings(file: Path) -> tuple[str, ...]:
    if not file.stat().st_mode & _READABLE_BY_OTHERS:
        return ()
    return (f"{file} holds a password and other users can read it; run: chmod 600 {file}",)
