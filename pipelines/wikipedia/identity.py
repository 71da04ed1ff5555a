"""The uuids of what a wiki becomes: the same title gives the same uuid, whether it is read from a dump or not."""

from uuid import NAMESPACE_URL, uuid5

_NAMESPACE = uuid5(NAMESPACE_URL, "graphmill:wikipedia")


def wiki_uuid(project: str, wiki: str) -> str:
    return _uuid(project, "Wiki", wiki)


def article_uuid(project: str, wiki: str, title: str) -> str:
    return _uuid(project, "Article", wiki, title)


def category_uuid(project: str, wiki: str, title: str) -> str:
    return _uuid(project, "Category", wiki, title)


def section_uuid(article: str, key: str) -> str:
    return _uuid(article, "Section", key)


def _uuid(*names: str) -> str:
    return str(uuid5(_NAMESPACE, "\0".join(names)))
