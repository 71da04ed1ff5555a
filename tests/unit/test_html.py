"""HTML: what a person sees of a page, by headings."""

import pytest

from pipelines.files.html import NotHtml, parse_html
from pipelines.files.model import Document
from pipelines.files.parsing import parse

PAGE = """<!DOCTYPE html>
<html><head><title>The
 mill</title><style>p { color: red }</style><script>alert("x")</script></head>
<body>
<nav>Menu <a href="other.html">Other</a></nav>
<p>It turns <b>day</b> and ni<i>ght</i>,
whatever the wind.</p>
<div id="part"><a name="old"></a>
<h2 id="grain">Grain &amp; flour</h2>
<ul><li>wheat</li><li>rye, see <a href="../rye.md#Sowing">rye</a></li></ul>
<pre>grind(
    grain)
</pre>
</div>
<table><tr><th>Stone</th><td>12</td></tr></table>
<h2><a id="within"></a>Water<br>wheel</h2>
<p>Turns <img src="wheel.png" alt="the wheel"> too.</p>
</body></html>
"""


def page(text: str = PAGE) -> Document:
    return parse_html("docs/mill.html", text)


def test_a_page_is_read_by_its_headings() -> None:
    assert [(part.key, part.name, part.names) for part in page().parts] == [
        ("the-mill", "The mill", ("the-mill",)),
        ("grain--flour", "Grain & flour", ("grain--flour", "part", "old", "grain")),
        ("water-wheel", "Water wheel", ("water-wheel", "within")),
    ]
    assert {part.label for part in page().parts} == {"TextSection"}


def test_the_text_is_what_a_person_sees() -> None:
    assert [part.content for part in page().parts] == [
        "It turns day and night, whatever the wind.",
        "Grain & flour\n\nwheat\nrye, see rye\n\ngrind(\n    grain)\n\nStone 12",
        "Water\nwheel\n\nTurns the wheel too.",
    ]


def test_sections_stand_in_the_lines_of_the_file() -> None:
    assert [(part.start_line, part.end_line) for part in page().parts] == [(6, 6), (9, 15), (16, 17)]


def test_links_are_references_of_the_file_also_from_navigation() -> None:
    assert [(each.wants[0], each.line) for each in page().references] == [
        ("file:docs/other.html", 5),
        ("file:rye.md#Sowing", 10),
        ("file:docs/wheel.png", 17),
    ]
    assert page().aliases == ("file:docs/mill.html",)


def test_a_page_without_headings_and_title_goes_by_the_name_of_the_file() -> None:
    (only,) = page("just <em>some</em> text").parts
    assert (only.key, only.name, only.content) == ("mill", "mill", "just some text")


def test_a_long_section_becomes_pieces_with_one_title() -> None:
    found = page("<h1>Long</h1>" + "".join(f"<p>{'word ' * 50}{number}</p>" for number in range(40))).parts
    assert len(found) > 5
    assert {part.name for part in found} == {"Long"}
    assert len({part.key for part in found}) == len(found)


def test_a_file_without_an_extension_is_html_if_it_begins_so() -> None:
    assert parse("page", PAGE.encode()).mime_type == "text/html"


def test_what_the_parser_cannot_read_whole_is_not_read_by_half() -> None:
    text = "<p>seen</p>" + "<div>" * 30_000 + "deep"
    with pytest.raises(NotHtml):
        page(text)
    assert "".join(part.content for part in parse("a.html", text.encode()).parts) == text


@pytest.mark.parametrize("odd", ["<a <a" * 16_000, "</p>" * 100, "<!--" * 1000, "<script>x"])
def test_tags_without_a_text_are_the_text_that_they_are(odd: str) -> None:
    assert "".join("".join(part.content for part in parse("a.html", odd.encode()).parts).split()) == "".join(
        odd.split()
    )
