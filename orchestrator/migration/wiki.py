"""Which wiki the articles of an older expansion are of: they do not say it themselves."""

from dataclasses import dataclass

from graph_stores.errors import Misuse
from orchestrator.wikipedia.wikis import Crawl, PageSource, SourceKind, Wiki
from pipelines.wikipedia.api import api_url_of, open_api
from pipelines.wikipedia.model import WikiUnavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownWiki:
    wiki: Wiki
    article_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WikiChoice:
    """Wikipedia in a language, or the wiki behind an address; `name` is what it calls itself."""

    lang: str
    api_url: str | None = None
    name: str | None = None
    contact: str | None = None
    rate: int | None = None

    async def known(self) -> KnownWiki:
        """Wikipedia's names are known; another wiki is asked for its own, unless a person tells it."""
        url = self.api_url or api_url_of(self.lang)
        name, lang, article_url = self.name, self.lang, f"https://{self.lang}.wikipedia.org/wiki/$1"
        if self.api_url and not name:
            name, lang, article_url = await self._asked(self.api_url)
        elif self.api_url:
            article_url = f"{self.api_url.rpartition('/')[0]}/index.php?title=$1"
        source = PageSource(kind=SourceKind.API, location=(url,), contact=self.contact, rate=self.rate)
        return KnownWiki(
            wiki=Wiki(
                name=name or f"{self.lang.replace('-', '_')}wiki",
                lang=lang,
                source=source,
                # Nothing that is there is to be taken away by an expansion that does not come past it.
                crawls=(Crawl(whole=True),),
            ),
            article_url=article_url,
        )

    async def _asked(self, url: str) -> tuple[str, str, str]:
        try:
            pages = await open_api(url, contact=self.contact, say=lambda _: None)
        except WikiUnavailable as error:
            raise Misuse(
                f"the wiki at {url} cannot be asked for its name: {error.message}", hint="tell it with --wiki NAME"
            ) from error
        try:
            return pages.site.wiki, pages.site.lang, pages.site.article_url
        finally:
            await pages.close()
