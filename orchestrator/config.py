"""Where the settings come from: flags beat the environment, which beats `graphmill.toml`, which beats the defaults.

Every value remembers where it came from. Refuses what it does not know, and secrets where others could read them: a
URL is shown and listed by `ps`.
"""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import graph_stores
from graph_stores.errors import AuthenticationFailed, Misuse

FILE_NAME = "graphmill.toml"
DEFAULT = "default"
OFF = "off"
"""A ledger that is not kept."""
_READABLE_BY_OTHERS = 0o044
_MOST_WORKERS_UNASKED = 8
_MOST_WORKERS = 256
_LANG = re.compile("[a-z][a-z0-9-]{1,30}")


class InvalidConfig(Misuse):
    """A configuration file that is missing, broken, or says what graphmill does not know."""

    code = "invalid_config"


class SecretExposed(Misuse):
    """A password in a place that other people can see."""

    code = "secret_exposed"


class PasswordMissing(AuthenticationFailed):
    code = "password_missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Something that can be set. `environment` names the variables that do so: of several, the first that is set."""

    key: str
    kind: type[str] | type[int] | type[bool] | type[list[str]] = str
    environment: str = ""
    flag: str = ""
    in_file: bool = True
    secret: bool = False


SETTINGS = (
    Setting(key="store", environment="GRAPHMILL_STORE", flag="--store"),
    Setting(key="project", environment="GRAPHMILL_PROJECT", flag="--project"),
    Setting(key="user", environment="NEO4J_USERNAME"),
    Setting(key="password", environment="NEO4J_PASSWORD", secret=True),
    Setting(key="roots", kind=list, flag="the command line"),
    Setting(key="include", kind=list, flag="--include"),
    Setting(key="exclude", kind=list, flag="--exclude"),
    Setting(key="default_excludes", kind=bool, flag="--default-excludes"),
    Setting(key="embedder", environment="GRAPHMILL_EMBEDDER", flag="--embedder"),
    Setting(key="embedder_url", environment="GRAPHMILL_EMBEDDER_URL", flag="--embedder-url"),
    Setting(key="embedder_key", environment="GRAPHMILL_EMBEDDER_KEY OPENAI_API_KEY", in_file=False, secret=True),
    Setting(key="api_url", environment="GRAPHMILL_API_URL", flag="--api-url"),
    Setting(key="lang", environment="GRAPHMILL_LANG", flag="--lang"),
    Setting(key="contact", environment="GRAPHMILL_CONTACT", flag="--contact"),
    Setting(key="rate", kind=int, environment="GRAPHMILL_RATE", flag="--rate"),
    Setting(key="workers", kind=int, environment="GRAPHMILL_WORKERS", flag="--workers"),
    Setting(key="ledger", environment="GRAPHMILL_LEDGER", flag="--ledger"),
)
KEYS = tuple(setting.key for setting in SETTINGS if setting.in_file)
_BY_KEY = {setting.key: setting for setting in SETTINGS}
_DEFAULTS = {"store": "kuzu:./graph.kuzu", "project": "default", "user": "neo4j", "embedder": "wordllama", "lang": "en"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What one run of graphmill works with; `warnings` are for the person who runs it, `origins` for who wonders."""

    store: str
    project: str
    user: str
    workers: int
    embedder: str
    lang: str
    password: str | None = field(default=None, repr=False)
    embedder_url: str | None = None
    embedder_key: str | None = field(default=None, repr=False)
    api_url: str | None = None
    contact: str | None = None
    rate: int | None = None
    ledger: Path | None = None
    keeps_ledger: bool = True
    roots: tuple[Path, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    default_excludes: bool | None = None
    origins: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def is_given(self, key: str) -> bool:
        """Whether a person set it, wherever."""
        return self.origins[key] != DEFAULT

    def shown(self) -> list[tuple[str, Any, str]]:
        """Each key with its value and where that came from; of a secret only whether there is one."""
        return [(each.key, self._shown(each), self.origins[each.key]) for each in SETTINGS]

    def _shown(self, setting: Setting) -> Any:  # Any: what JSON has
        value = getattr(self, setting.key)
        if setting.secret:
            return "(set)" if value else None
        if isinstance(value, Path):
            return str(value)
        return [str(item) for item in value] if isinstance(value, tuple) else value


def load(
    flags: Mapping[str, Any],  # Any: as the setting's kind is
    *,
    file: Path | None,
    environment: Mapping[str, str],
    directory: Path,
) -> Settings:
    """Put the settings together; `file` is the one asked for by name, else the nearest one at or above `directory`."""
    found = file or _nearest(directory)
    written = _read(found) if found else {}
    values: dict[str, Any] = {**_DEFAULTS, "workers": min(_MOST_WORKERS_UNASKED, os.cpu_count() or 1)}
    origins = dict.fromkeys(_BY_KEY, DEFAULT)
    for key, (value, origin) in (_from_file(written, found) | _exported(environment) | _given(flags)).items():
        values[key], origins[key] = value, origin
    _keep_the_key_from_strangers(values, origins, found)
    if not values["project"].strip():
        raise Misuse("the project has no name", hint="leave --project out to use the project called default")
    values["store"] = _checked_url(values["store"])
    values |= {setting.key: tuple(values.get(setting.key, ())) for setting in SETTINGS if setting.kind is list}
    values["keeps_ledger"] = values.get("ledger") != OFF
    if ledger := values.pop("ledger", None):
        values["ledger"] = Path(ledger).expanduser() if ledger != OFF else None
    if "embedder_url" in values:
        _check_endpoint(values["embedder_url"])
    if values["workers"] > _MOST_WORKERS:
        raise Misuse(f"{values['workers']:,} workers are too many", hint=f"expected 1 to {_MOST_WORKERS}")
    if not _LANG.fullmatch(values["lang"]):
        raise Misuse(f"{values['lang']!r} is no language of Wikipedia", hint="expected a code such as en, de or zh-yue")
    return Settings(
        **values,
        origins=origins,
        warnings=_warnings(found) if found and "password" in written else (),
    )


def _from_file(written: Mapping[str, Any], file: Path | None) -> dict[str, tuple[Any, str]]:
    return {key: (value, str(file)) for key, value in written.items()}


def _exported(environment: Mapping[str, str]) -> dict[str, tuple[Any, str]]:
    found: dict[str, tuple[Any, str]] = {}
    for setting in SETTINGS:
        for name in setting.environment.split():
            if value := environment.get(name):
                found.setdefault(setting.key, (_exported_value(setting, name, value), name))
    return found


def _exported_value(setting: Setting, name: str, text: str) -> str | int:
    if setting.kind is not int:
        return text
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise Misuse(f"{name} is {text!r}, expected a whole number above 0", hint=f"set it as {name}=2, or unset it")
    return int(text)


def _given(flags: Mapping[str, Any]) -> dict[str, tuple[Any, str]]:
    return {key: (value, _BY_KEY[key].flag) for key, value in flags.items() if value not in (None, (), [])}


def _keep_the_key_from_strangers(values: dict[str, Any], origins: dict[str, str], file: Path | None) -> None:
    """A file that came with a folder may name any endpoint, and gets no key that was not meant for graphmill."""
    if file and origins["embedder_url"] == str(file) and origins["embedder_key"] == "OPENAI_API_KEY":
        del values["embedder_key"]
        origins["embedder_key"] = DEFAULT


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


def _read(file: Path) -> dict[str, Any]:
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
    if document.get("ledger", OFF) != OFF:
        document["ledger"] = str(file.absolute().parent / Path(document["ledger"]).expanduser())
    if "roots" in document:
        document["roots"] = [file.absolute().parent / Path(root).expanduser() for root in document["roots"]]
    return document


def _check_entry(file: Path, key: str, value: object) -> None:
    if key not in KEYS:
        raise InvalidConfig(f"{file} has an unknown key {key!r}", hint=_suggestion(key))
    kind = _BY_KEY[key].kind
    wrong = f"{key} in {file} is {_described(value)}"
    if kind is list and not _are_texts(value):
        raise InvalidConfig(f"{wrong}, expected a list of texts", hint=f'write it as {key} = ["…", "…"]')
    if kind is int and (type(value) is not int or value < 1):
        raise InvalidConfig(f"{wrong}, expected a whole number above 0", hint=f"write it as {key} = 2")
    if kind is bool and not isinstance(value, bool):
        raise InvalidConfig(f"{wrong}, expected true or false", hint=f"write it as {key} = false")
    if kind is str and (not isinstance(value, str) or not value):
        raise InvalidConfig(f"{wrong}, expected a text", hint=f'write it as {key} = "…"')


def _suggestion(key: str) -> str:
    if "key" in key or "token" in key:
        return f"a key is no part of this file: set {_BY_KEY['embedder_key'].environment.split()[0]}"
    near = get_close_matches(key, KEYS, n=1)
    return f"did you mean {near[0]}?" if near else f"the keys are {', '.join(KEYS)}"


def _are_texts(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(each, str) for each in value)


def _described(value: object) -> str:
    if isinstance(value, list):
        return "a list" if _are_texts(value) else "a list with other things than texts"
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return "empty" if value == "" else f"a {type(value).__name__}"


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


def _check_endpoint(url: str) -> None:
    if "@" in url:
        raise SecretExposed(
            "the embedder's URL must hold neither user nor password: others can read it in the list of processes",
            hint="set GRAPHMILL_EMBEDDER_KEY",
        )
    if urlsplit(url).scheme not in ("http", "https"):
        raise Misuse(f"the embedder's URL {url!r} has no scheme", hint="expected http://HOST/v1 or https://HOST/v1")


def _warnings(file: Path) -> tuple[str, ...]:
    if not file.stat().st_mode & _READABLE_BY_OTHERS:
        return ()
    return (f"{file} holds a password and other users can read it; run: chmod 600 {file}",)
