"""Where the ledger of a graph is: beside an embedded one, in the user's own folders for one on a server."""

import re
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import graph_stores

_LONGEST = 100


def folder_of(store_url: str, project: str, setting: Path | None) -> Path:
    """One folder for each project. A `setting` that all machines reach makes one ledger of all workers."""
    if setting is not None:
        return setting.expanduser().absolute() / _name(project)
    if path := graph_stores.path_of(store_url):
        return path.with_name(f"{path.name}.ledger") / _name(project)
    from platformdirs import user_state_path

    return user_state_path("graphmill") / "ledger" / _server(store_url) / _name(project)


def projects_of(store_url: str, setting: Path | None) -> list[str]:
    """The projects that have a ledger; without those whose name is too long for a folder."""
    try:
        folders = [each for each in folder_of(store_url, "_", setting).parent.iterdir() if each.is_dir()]
    except OSError:
        return []
    return sorted(name for each in folders if _name(name := unquote(each.name)) == each.name)


def _server(url: str) -> str:
    """Host, port and database, and neither how it is spoken to nor as whom: it is the same graph."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return _name(re.sub(r"[:/]+", "_", f"{host}{parts.path}".rstrip("/")))


def _name(text: str) -> str:
    """A file name that no other text has."""
    name = quote(text, safe=" ")
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if len(name) > _LONGEST:
        name = f"{name[:_LONGEST]}-{sha256(text.encode()).hexdigest()[:12]}"
    return name
