"""Lines for people out of text that still has apostrophes, marks and what nothing closed.

Owns how paragraphs, rows and gaps look in the end. Everything here works on one long text, and every
regular expression in time that grows with it, whatever it holds.
"""

import re

from pipelines.wikipedia.wikitext_marks import CELL, CELL_ALONE, CELL_END, GAP, ITEM, ROW, SECTION, readable

_APOSTROPHES = re.compile("''+")
_BREAKS = re.compile(f"([{CELL}{CELL_END}{ROW}{SECTION}])")
_ITEM_IN_CELL = re.compile(rf"\n[ \t]*{ITEM}+")
_LOOSE_LINK = re.compile(r"\[\[:?([^\[\]|\n]*)(?:\|([^\[\]\n]*))?\]\]")
_LOOSE_SIGNS = re.compile(r"\{\{+|\}\}+|\[\[|\]\]|^[ \t:*#]*\{\|[^\n]*|^[ \t]*\|\}", re.MULTILINE)
_LOOSE_TAG = re.compile(
    r"</?(?:ref|references|div|span|small|big|center|font|p|br|b|i|u|s|sub|sup|tt|table|tr|td|th|caption|ul|ol|li|dl|dt"
    r"|dd|blockquote|nowiki|noinclude|includeonly|onlyinclude|gallery|math|pre|code|source|syntaxhighlight|poem|section"
    r"|abbr|cite|del|ins|em|strong|strike|var|kbd|samp|hr|wbr|h[1-6]|timeline|imagemap|score)(?=[\s/>])[^<>\n]*>?",
    re.IGNORECASE,
)
_LOOSE_ROW = re.compile(r"^[ \t]*[|!](?:[-+]*)(?P<cells>[^\n]*)$", re.MULTILINE)
_LOOSE_ROW_START = re.compile(r"^[ \t]*\|-[^\n]*$", re.MULTILINE)
_CELLS = re.compile(r"\|\||!!")
_CELL_ATTRIBUTES = re.compile(r"^[^|\[\]{}=]*=[^|\[\]{}]*\|(?!\|)")
_ATTRIBUTES_ALONE = re.compile(
    r"(?:(?:rowspan|colspan|style|align|valign|class|width|bgcolor|scope) ?= ?(?:\"[^\"]*\"|[^\s\"]+)\s+)+",
    re.IGNORECASE,
)
"""Before a template that would have closed them."""
_SWITCH = re.compile(r"__[^\W\d_]{2,}__")
_EMPTY_BRACKETS = re.compile(rf" ?\([ ,;:/{GAP}]*\)")
_GAP_FIRST = re.compile(rf"\([ ,;:{GAP}]+")
_GAP_LAST = re.compile(rf"(?<![ ,;:{GAP}])[ ,;:{GAP}]+\)")
_GAP_BEFORE_STOP = re.compile(rf" {GAP}+(?=[,.;:)])")
_GAP_LINE = re.compile(rf"\n[ \t]*{GAP}[ \t{GAP}]*(?=\n)")
_BLANKS = re.compile(r"[^\S\n]+")
_BLANKS_AT_ENDS = re.compile(r" ?\n ?")
_EMPTY_LINES = re.compile(r"\n{3,}")


def tidy(text: str) -> str:
    """The text of a page; what separates sections stays."""
    if "''" in text:
        text = "\n".join([_without_quotes(line) if "''" in line else line for line in text.split("\n")])
    text = _without_loose_markup(text)
    if CELL in text or CELL_ALONE in text:
        text = _rows(text)
    text = _BLANKS.sub(" ", text.replace(ROW, "\n").replace(ITEM, ""))
    if GAP in text:
        text = _without_gaps(text)
    return readable_sections(_EMPTY_LINES.sub("\n\n", _BLANKS_AT_ENDS.sub("\n", text)))


def readable_sections(text: str) -> str:
    return SECTION.join([readable(part) for part in text.split(SECTION)])


def one_line(text: str) -> str:
    """A title of a section."""
    return " ".join(tidy(text.replace(SECTION, " ")).split())


def _without_quotes(line: str) -> str:
    """Two apostrophes are italics, three bold, five both. Where neither comes out even, one is meant as such."""
    runs = list(_APOSTROPHES.finditer(line))
    lengths = [len(run[0]) for run in runs]
    bold = [index for index, length in enumerate(lengths) if length in {3, 4}]
    both = sum(length >= 5 for length in lengths)
    kept = [1 if length == 4 else max(0, length - 5) for length in lengths]
    if bold and (len(bold) + both) % 2 and (lengths.count(2) + both) % 2:
        kept[_meant(line, [(index, runs[index].end() - 3) for index in bold])] += 1
    pieces, position = [], 0
    for run, count in zip(runs, kept, strict=True):
        pieces += [line[position : run.start()], "'" * count]
        position = run.end()
    return "".join(pieces) + line[position:]


def _meant(line: str, bold: list[tuple[int, int]]) -> int:
    """After a word of one letter, as in L'''Avventura''; else after a longer word, else the first."""

    def likelihood(start: int) -> int:
        if start < 1 or line[start - 1] == " ":
            return 2
        return 0 if start < 2 or line[start - 2] == " " else 1

    return min(bold, key=lambda each: likelihood(each[1]))[0]


def _without_loose_markup(text: str) -> str:
    """What nothing closed, or nothing opened: the signs go, the words stay."""
    if "[[" in text:
        text = _LOOSE_LINK.sub(lambda link: link[2] if link[2] is not None else link[1], text)
    if "\n|" in text or "{|" in text or text.startswith("|"):
        text = _LOOSE_ROW_START.sub("", text)
        headers = "{|" in text
        text = _LOOSE_SIGNS.sub("", text)
        text = _LOOSE_ROW.sub(
            lambda row: row[0] if row[0].lstrip()[0] == "!" and not headers else _loose_row(row), text
        )
    elif "{{" in text or "}}" in text or "[[" in text or "]]" in text:
        text = _LOOSE_SIGNS.sub("", text)
    if "<" in text:
        text = _LOOSE_TAG.sub("", text)
    if "__" in text:
        text = _SWITCH.sub(lambda switch: "" if switch[0].isupper() else switch[0], text)
    return text


def _loose_row(row: re.Match[str]) -> str:
    return CELL_ALONE + CELL_ALONE.join([_CELL_ATTRIBUTES.sub("", cell) for cell in _CELLS.split(row["cells"])])


def _rows(text: str) -> str:
    """One line a row. Within a cell there are no lines: the rows of a table in a cell follow one another."""
    depth = 0
    pieces = []
    for piece in _BREAKS.split(text):
        if piece == CELL:
            depth += 1
            pieces.append(CELL_ALONE if depth == 1 else " ")
        elif piece == CELL_END:
            depth = max(0, depth - 1)
        elif piece == ROW:
            pieces.append(" " if depth else "\n")
        elif piece == SECTION:
            depth = 0
            pieces.append(piece)
        elif depth:
            pieces.append(_in_cell(piece))
        else:
            pieces.append(piece)
    return "\n".join([_row(line) if CELL_ALONE in line else line for line in "".join(pieces).split("\n")])


def _in_cell(text: str) -> str:
    if "\n" not in text:
        return text
    if ITEM in text:
        first, *items = _ITEM_IN_CELL.split(text)
        text = ", ".join(filter(None, [first.strip(), *map(str.strip, items)]))
    return text.replace("\n", " ").replace(CELL_ALONE, " ")


def _row(line: str) -> str:
    cells = [_cell(cell) for cell in line.split(CELL_ALONE)]
    return " | ".join([cell for cell in cells if cell.strip(GAP + ITEM)])


def _cell(text: str) -> str:
    text = text.strip()
    attributes = _ATTRIBUTES_ALONE.match(text) if "=" in text else None
    return text[attributes.end() :] if attributes else text


def _without_gaps(text: str) -> str:
    """Brackets that held nothing else go with what was left out, and so do commas around it at their ends."""
    text = _EMPTY_BRACKETS.sub(lambda found: "" if GAP in found[0] else found[0], text)
    text = _GAP_FIRST.sub(lambda found: "(" if GAP in found[0] else found[0], text)
    text = _GAP_LAST.sub(lambda found: ")" if GAP in found[0] else found[0], text)
    return _BLANKS.sub(" ", _GAP_LINE.sub("", _GAP_BEFORE_STOP.sub("", text)).replace(GAP, ""))
