"""The uuids of what a wiki becomes: the same title gives the same uuid, whether it is read from a dump or not."""

from hashlib import sha1
from uuid import NAMESPACE_URL, uuid5

_NAMESPACE = uuid5(NAMESPACE_URL, "graphmill:wikipedia")
_BEGUN = sha1(_NAMESPACE.bytes, usedforsecurity=False)
# The version, 5, and the variant have their place in a uuid.
_ROOM = ~((0xF << 76) | (0x3 << 62))
_KIND = (0x5 << 76) | (0x2 << 62)


def wiki_uuid(project: str, wiki: str) -> str:
    return _uuid(project, "Wiki", wiki)


def article_uuid(project: str, wiki: str, title: str) -> str:
    return _uuid(project, "Article", wiki, title)


def category_uuid(project: str, wiki: str, title: str) -> str:
    return _uuid(project, "Category", wiki, title)


def section_uuid(article: str, key: str) -> str:
    return _uuid(article, "Section", key)


def _uuid(*names: str) -> str:
    """As `uuid5`, which takes more than twice as long: a large graph has millions of them."""
    hashed = _BEGUN.copy()
    hashed.update("\0".join(names).encode())
    text = f"{int.from_bytes(hashed.digest()[:16]) & _ROOM | _KIND:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
