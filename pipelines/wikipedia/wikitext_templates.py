"""What well-known templates of the English Wikipedia say, and which articles they link to.

Owns the table of them. A template that is not in it says nothing: what it would say is known to its wiki alone.
"""

import re
from collections.abc import Callable, Mapping

Arguments = Mapping[str, str]
"""By name; those without one are named by their number, from 1."""
_Saying = Callable[[Arguments], str]
_Linking = Callable[[Arguments], list[str]]

_UNITS = {
    "m2": "m²", "m3": "m³", "km2": "km²", "sqkm": "km²", "sqmi": "sq mi", "mi2": "sq mi", "sqft": "sq ft",
    "ft2": "sq ft", "cuft": "cu ft", "ft3": "cu ft", "c": "°C", "f": "°F", "kmh": "km/h", "mph": "mph", "foot": "ft",
    "km/h": "km/h", "ha": "ha", "acre": "acres", "long ton": "long tons", "short ton": "short tons",
}  # fmt: skip
_JOINING = {"to", "and", "or", "by", "x", "-", "–", "to(-)", "and(-)", "+", "±", "+/-", "×"}
_NUMBER = re.compile(r"\d+")


def saying(name: str, arguments: Arguments) -> str | None:
    """The text that a reader reads in place of the template, or None where it is left out."""
    say = _SAYINGS.get(name)
    if say is None and name.startswith("lang-"):
        say = _first
    return say(arguments) if say is not None else None


def targets(name: str, arguments: Arguments) -> list[str]:
    """The titles that the template links to, as they are written in its arguments."""
    link = _LINKINGS.get(name)
    return [target for target in link(arguments) if target.strip()] if link is not None else []


def _numbered(arguments: Arguments) -> list[str]:
    return [value for key, value in arguments.items() if _NUMBER.fullmatch(key)]


def _argument(*keys: str) -> _Saying:
    return lambda arguments: next((arguments[key] for key in keys if arguments.get(key, "").strip()), "")


_first = _argument("1")
_second = _argument("2", "1")
_last: _Saying = lambda arguments: (_numbered(arguments) or [""])[-1]  # noqa: E731
_quote = _argument("text", "1", "quote", "content")


def _constant(text: str) -> _Saying:
    return lambda arguments: text


def _around(before: str, after: str = "", join: str = " ") -> _Saying:
    return lambda arguments: before + join.join(value.strip() for value in _numbered(arguments)) + after


def _block(say: _Saying) -> _Saying:
    return lambda arguments: f"\n\n{say(arguments).strip()}\n\n"


def _convert(arguments: Arguments) -> str:
    """The amount as it is written, without the other units that a wiki would compute."""
    values = [value.strip() for value in _numbered(arguments)]
    said = values[:1]
    while len(values) >= 4 and values[1].lower() in _JOINING:
        said += ["–" if values[1] in {"-", "–"} else values[1].removesuffix("(-)"), values[2]]
        values = values[2:]
    unit = values[1] if len(values) > 1 else ""
    return " ".join([*said, _UNITS.get(unit.lower(), unit)]).replace(" – ", "–").strip()


def _as_of(arguments: Arguments) -> str:
    date = " ".join(value.strip() for value in reversed(_numbered(arguments)))
    said = arguments.get("alt", "").strip() or f"{'since' if 'since' in arguments else 'as of'} {date}"
    return said if "lc" in arguments or "alt" in arguments else said[:1].upper() + said[1:]


def _fraction(arguments: Arguments) -> str:
    match _numbered(arguments):
        case [whole, over, under, *_]:
            return f"{whole.strip()} {over.strip()}/{under.strip()}"
        case [over, under]:
            return f"{over.strip()}/{under.strip()}"
        case [under]:
            return f"1/{under.strip()}"
    return ""


def _items(arguments: Arguments) -> str:
    return ", ".join(value.strip() for value in _numbered(arguments) if value.strip())


def _nihongo(arguments: Arguments) -> str:
    english, japanese, romanised = (arguments.get(key, "").strip() for key in ("1", "2", "3"))
    inner = ", ".join(filter(None, (japanese, romanised)))
    return f"{english} ({inner})" if english and inner else english or inner


def _date(arguments: Arguments) -> str:
    return "-".join(value.strip() for value in _numbered(arguments)[:3] if value.strip())


def _sortname(arguments: Arguments) -> str:
    return " ".join(arguments.get(key, "").strip() for key in ("1", "2")).strip()


def _ship(arguments: Arguments) -> str:
    return " ".join(arguments.get(key, "").strip() for key in ("1", "2")).strip()


def _quantity(arguments: Arguments) -> str:
    unit = arguments.get("u") or arguments.get("ul") or arguments.get("p") or ""
    power = f"×10^{arguments['e'].strip()}" if arguments.get("e", "").strip() else ""
    return f"{_first(arguments).strip()}{power} {unit.strip()}".strip()


def _mark(default: str) -> _Saying:
    """A coloured cell of a table."""
    return lambda arguments: _first(arguments).strip() or default


def _each(names: str, say: _Saying) -> dict[str, _Saying]:
    return dict.fromkeys(names.split("|"), say)


_SAYINGS: dict[str, _Saying] = {
    **_each("convert|cvt", _convert),
    **_each("lang|transl|transliteration|wikt-lang|script|font color|sort|legend|resize", _second),
    **_each(
        "abbr|tooltip|nowrap|nobr|no wrap|j|small|smaller|big|bigger|large|em|strong|smallcaps|sc|sc1|sc2|aut|"
        "math|mvar|var|code|kbd|samp|tt|mono|monospace|center|linktext|nts|formatnum|number table sorting|"
        "flag|flagcountry|flagu|noitalic|nonitalic|not a typo|sic|proper name|italic|bold|char|unichar|"
        "script/hebrew|script/arabic|hebrew|rtl-lang|unicode|polytonic|grc|asiantitle|keypress|key press|button|"
        "bigmath|intmath|strikethrough|underline|highlight|plain link|plainlink|visible anchor|vanchor|poem|"
        "nobold|larger|hanging indent",
        _first,
    ),
    **_each("angbr|angle bracket", _around("⟨", "⟩")),
    **_each("quote|blockquote|cquote|quotation|block quote|rquote|bquote|poemquote|poem quote", _block(_quote)),
    **_each("quote box|quotebox|quote frame", _block(_argument("quote", "text", "1"))),
    **_each("block indent|blockindent|indent text|in5|plainlist|plain list|flatlist", _block(_quote)),
    **_each("hlist|flat list|ubl|unbulleted list|csv|enum|comma separated entries", _items),
    **_each("bulleted list|blist|ordered list", lambda found: "\n\n" + "\n".join(_numbered(found)) + "\n\n"),
    **_each("as of|asof", _as_of),
    **_each("circa|c.|ca", _around("c. ")),
    **_each("frac|fraction|sfrac|tfrac", _fraction),
    **_each("val", _quantity),
    "gaps": _around("", join=""),
    **_each("nihongo|nihongo2|nihongo3|nihongo krt", _nihongo),
    **_each("start date|end date|birth date|death date|start date and age|dts|date", _date),
    "sortname": _sortname,
    **_each("ill|interlanguage link|interlanguage link multi", _argument("lt", "1")),
    **_each("ship", _ship),
    **_each("uss", _around("USS ")),
    **_each("hms", _around("HMS ")),
    **_each("us$|usd", _around("US$", join="")),
    **_each("£|gbp|gb£", _around("£", join="")),
    **_each("€|eur", _around("€", join="")),
    **_each("inr|indian rupee|rupee", _around("₹", join="")),
    **_each("sup", _first),
    **_each("sub", _first),
    **_each("chem|chem2|chem name", _around("", join="")),
    "e": _around("×10^"),
    **_each("spaced ndash|snd|snds|spnd|spaced en dash|sndash|–", _constant(" – ")),
    **_each("ndash|en dash|endash", _constant("–")),
    **_each("mdash|em dash|emdash|—", _constant("—")),
    **_each("spaced mdash|spaced em dash", _constant(" — ")),
    **_each("nbsp|space|spaces|thinsp|thin space|hair space|hsp|zwsp|0ws|pad", _constant(" ")),
    **_each("dot|·|middot|•|bull|bullet|\\|dotsep", _constant(" · ")),
    **_each("'|apostrophe", _constant("’")),
    **_each("'s", _constant("’s")),
    **_each("okina|hamza|ayin", _constant("ʻ")),
    **_each("!|pipe", _constant("|")),
    "=": _constant("="),
    **_each("yes|y|ya|tick|yes2", _mark("Yes")),
    **_each("no|n|na-no|cross|no2", _mark("No")),
    **_each("partial|some", _mark("Partial")),
    **_each("n/a|na", _mark("N/A")),
    **_each("unknown|dunno", _mark("Unknown")),
    **_each("won", _mark("Won")),
    **_each("nom|nominated", _mark("Nominated")),
    **_each("-|clear|break|br|crlf", _constant("\n")),
    **_each("degree|deg", _constant("°")),
    **_each("times", _constant("×")),
}


def _all(arguments: Arguments) -> list[str]:
    return _numbered(arguments)


def _from(first: int, step: int = 1) -> _Linking:
    return lambda arguments: _numbered(arguments)[first::step]


def _sortname_target(arguments: Arguments) -> list[str]:
    if "nolink" in arguments:
        return []
    return [arguments.get("3", "").strip() or _sortname(arguments)]


def _links(names: str, link: _Linking) -> dict[str, _Linking]:
    return dict.fromkeys(names.split("|"), link)


_LINKINGS: dict[str, _Linking] = {
    **_links(
        "main|main article|main articles|main list|see also|seealso|see|further|further information|details|"
        "more|more information|distinguish|confused|not to be confused with|subarticle|sub article|broader|see main",
        _all,
    ),
    **_links("about", _from(2, 2)),
    **_links("for|for multi", _from(1)),
    **_links("redirect|redirects here|redirect-distinguish", _from(2, 2)),
    **_links("other uses|otheruses|other people|other places", _from(0)),
    **_links("ill|interlanguage link|flag|flagcountry|flagu", _from(0, 99)),
    "sortname": _sortname_target,
}
