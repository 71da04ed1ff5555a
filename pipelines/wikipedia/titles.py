"""Titles as a wiki understands them, however they were written: in a link, on a command line, in a file.

Owns the rules by which two spellings are the same page, and which strings are no title at all. Whether a page exists is
for a source of pages to say.
"""

import html
import re
from contextlib import suppress
from dataclasses import dataclass
from unicodedata import normalize
from urllib.parse import unquote

from pipelines.wikipedia.model import ARTICLES, Site

LONGEST = 255
"""In bytes of UTF-8, without the namespace: what a wiki's tables hold."""

_USUAL = """
aa ab ace ady af ak als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az azb ba ban bar
bat-smg bbc bcl bdr be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy br bs btm bug bxr ca cbk-zam cdo ce
ceb ch cho chr chy ckb co cr crh cs csb cu cv cy da dag de dga din diq dsb dtp dty dv dz ee el eml en eo es et
eu ext fa fat ff fi fiu-vro fj fo fon fr frp frr fur fy ga gag gan gcr gd gl glk gn gom gor got gpe gsw gu guc
gur guw gv ha hak haw he hi hif ho hr hsb ht hu hy hyw hz ia iba id ie ig igl ii ik ilo inh io is it iu ja jam
jbo jv ka kaa kab kbd kbp kcg kg kge ki kj kk kl km kn ko koi kr krc ks ksh ku kus kv kw ky la lad lb lbe lez
lfn lg li lij lld lmo ln lo lrc lt ltg lv lzh mad mai map-bms mdf mg mh mhr mi min mk ml mn mni mnw mo mos mr
mrj ms mt mus mwl my myv mzn na nah nan nap nds nds-nl ne new ng nia nl nn no nov nqo nr nrm nso nv ny oc olo om
or os pa pag pam pap pcd pcm pdc pfl pi pih pl pms pnb pnt ps pt pwn qu rm rmy rn ro roa-rup roa-tara rsk ru rue
rw sa sah sat sc scn sco sd se sg sgs sh shi shn shy si simple sk skr sl sm smn sn so sq sr srn ss st stq su sv
sw szl szy ta tay tcy tdd te tet tg th ti tig tk tl tly tn to tpi tr trv ts tt tum tw ty tyv udm ug uk ur uz ve
vec vep vi vls vo vro wa war wo wuu xal xh xmf yi yo yue za zea zgh zh zh-classical zh-min-nan zh-yue zu b
wikibooks c commons d wikidata m meta mw mediawikiwiki n wikinews q wikiquote s wikisource species wikispecies v
wikiversity voy wikivoyage w wikipedia wikt wiktionary wikimedia foundation wmf phab google doi rfc imdbtitle
toollabs toolforge bugzilla mediazilla outreach incubator testwiki wikitech
"""
USUAL_INTERWIKI = frozenset(_USUAL.split())
"""For a source that cannot say its own, as a dump: languages and sister projects."""

_BLANKS = re.compile(r"[ _\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_UNSEEN = re.compile("[\u200e\u200f\u202a-\u202e]")
_FORBIDDEN = re.compile(r"[<>\[\]{}|\x00-\x1f\x7f\ufffd\ud800-\udfff]")
_PERCENT = re.compile(r"%[0-9a-fA-F]{2}")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z0-9]{2,31});")
_PLAIN = re.compile(r"[A-Z0-9][A-Za-z0-9]*(?: [A-Za-z0-9]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Title:
    """A page by its namespace and its name without the namespace, and the place in it that was meant."""

    namespace: int
    title: str
    fragment: str | None = None
    interwiki: str | None = None
    """The prefix, where the page is in another wiki; then nothing else is known of the title."""


class _NoTitle(Exception):
    """Says in a sentence why not."""


def normalise(written: str, site: Site, *, base: str | None = None) -> Title | None:
    """The title that was meant, or None where no page can have it. A link to #place alone is one to `base`."""
    if len(written) <= LONGEST and _PLAIN.fullmatch(written):
        return Title(namespace=ARTICLES, title=written)
    try:
        return _read(written, site, base)
    except _NoTitle:
        return None


def describe_invalid(written: str) -> str:
    """Why no page can have this title."""
    try:
        _read(written, Site(wiki="", lang="", article_url=""), None)
    except _NoTitle as error:
        return str(error)
    return "it names no page"


def _read(written: str, site: Site, base: str | None) -> Title:
    text = _BLANKS.sub(" ", _UNSEEN.sub("", _decode(written))).strip(" ")
    text, mark, place = text.partition("#")
    fragment = (place.strip(" ") or None) if mark else None
    text = text.strip(" ")
    if not text and fragment and base is not None:
        return Title(namespace=ARTICLES, title=base, fragment=fragment)
    namespace, interwiki, name = _prefix(text.removeprefix(":").lstrip(" "), site)
    if interwiki is not None:
        return Title(namespace=ARTICLES, title=name, fragment=fragment, interwiki=interwiki)
    _check(name)
    return Title(namespace=namespace, title=_first_letter(name) if site.first_letter else name, fragment=fragment)


def _decode(written: str) -> str:
    if "&" in written:
        written = _ENTITY.sub(lambda entity: html.unescape(entity[0]), written)
    if "%" in written and _PERCENT.search(written):
        with suppress(UnicodeDecodeError):  # then the signs stand for themselves, and are refused as such
            written = unquote(written, errors="strict")
    return written if written.isascii() else normalize("NFC", written)


def _prefix(text: str, site: Site) -> tuple[int, str | None, str]:
    """Only the first prefix counts, unless it names the articles' own namespace or this wiki."""
    before, colon, after = text.partition(":")
    if colon:
        prefix = before.strip(" ").lower()
        if prefix in site.namespaces and prefix:
            return site.namespaces[prefix], None, after.strip(" ")
        if prefix in site.interwiki:
            if prefix == site.lang:
                return _prefix(after.strip(" ").removeprefix(":").lstrip(" "), site)
            return ARTICLES, prefix, after.strip(" ")
    return ARTICLES, None, text


def _check(name: str) -> None:
    if not name:
        raise _NoTitle("it is empty")
    forbidden = _FORBIDDEN.search(name)
    if forbidden:
        raise _NoTitle(f"it has the character {forbidden[0]!r}, which no title may have")
    if _PERCENT.search(name):
        raise _NoTitle("it has a percent sign followed by two digits of a code, which no title may have")
    if _ENTITY.search(name):
        raise _NoTitle("it has an HTML entity, which no title may have")
    if any(part in {".", ".."} for part in name.split("/")) and not name.startswith("/"):
        raise _NoTitle("it has a part . or .., which no title may have")
    if "~~~" in name:
        raise _NoTitle("it has ~~~, which no title may have")
    if name.startswith(":"):
        raise _NoTitle("it begins with a colon, which no title may")
    if len(name.encode()) > LONGEST:
        raise _NoTitle(f"it is {len(name.encode()):,} bytes long, and no title is longer than {LONGEST}")


def _first_letter(name: str) -> str:
    upper = name[0].upper()
    return upper + name[1:] if len(upper) == 1 else name
