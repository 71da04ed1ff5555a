"""Wikitext: every word that a reader reads, none of the markup, and what is linked."""

import pytest

from pipelines.wikipedia.model import Parsed, Site
from pipelines.wikipedia.wikitext import parse

SITE = Site(
    wiki="testwiki",
    lang="en",
    article_url="https://wiki.example/$1",
    namespaces={"talk": 1, "file": 6, "image": 6, "template": 10, "category": 14},
    interwiki=frozenset({"de", "wikt"}),
)


def read(text: str) -> Parsed:
    return parse(text, title="Loom", site=SITE)


def lead(text: str) -> str:
    return read(text).sections[0].content


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'''Bold''', ''italic'' and '''''both'''''.", "Bold, italic and both."),
        ("L'''Abito'' and rock 'n' roll", "L'Abito and rock 'n' roll"),
        ("the ''''quoted'''' one", "the 'quoted' one"),
        ("Two [[cat]]s and [[dog|a hound]]ish [[Rope (thing)|]].", "Two cats and a houndish Rope."),
        ("See [http://a.example the ''site''] and [http://b.example].", "See the site and ."),
        ("Plain http://a.example/x__y__z here", "Plain http://a.example/x__y__z here"),
        ("a&nbsp;b &lt;ref&gt; &#x41;&#66; &amp;", "a b <ref> AB &"),
        ("one<ref>two [[x]]</ref> three<ref name=a /> four", "one three four"),
        ("one<!-- two --> three\n<!-- four -->\nfive", "one three\nfive"),
        ("one <!-- never closed", "one"),
        ("<nowiki>[[no]] ''link''</nowiki> <math>a_{1} < b</math>", "[[no]] ''link'' a_{1} < b"),
        ("<code>f()</code> <br>x<br/>y", "f()\nx\ny"),
        ("<pre>a  ''b''</pre>", "a ''b''"),
        ("<syntaxhighlight lang=c>if (a [[b]])</syntaxhighlight>", "if (a [[b]])"),
        ("* one\n** two\n# three\n: four", "one\ntwo\nthree\nfour"),
        ("; term : meaning", "term\nmeaning"),
        ("<ul><li>one</li><li>two</li></ul>", "one\ntwo"),
        ("<blockquote>said</blockquote>so", "said\n\nso"),
        ("a\n\n\n\nb  c \n d", "a\n\nb c\nd"),
        ("__NOTOC__a __b__ __FORCETOC__", "a __b__"),
        ("{{Infobox|name=x}}\nText ({{IPA|x}}; born) here {{cite}}.", "Text (born) here."),
        ("A ({{IPA|x}}) b", "A b"),
        ("{{convert|5|km|mi}} and {{convert|3|to|4|m2|abbr=on}}", "5 km and 3 to 4 m²"),
        ("{{lang|fr|le ''mot''}}, {{lang-de|Wort}}, {{nowrap|a b}}, {{abbr|Mr|Mister}}", "le mot, Wort, a b, Mr"),
        ("{{quote|Said [[x|he]].|Who}}", "Said he."),
        ("{{PAGENAME}} a{{snd}}b {{circa|1900}} {{frac|1|2}}", "Loom a – b c. 1900 1/2"),
        ("[[File:A.png|thumb|200px|alt=x|A [[cap|caption]] ''here'']]Text", "A caption here\n\nText"),
        ("a [[File:A.png|20px|unseen]] b", "a b"),
        ("<gallery>\nFile:A.png|One [[cat]]\nB.png|alt=b|Two\nC.png\n</gallery>", "One cat\n\nTwo"),
        ("[[Category:X]]a[[de:Y]] [[wikt:z]] [[:de:Q]] [[:Category:W]]", "a wikt:z de:Q Category:W"),
        ("{{{1|default}}} {{{2}}}", "default"),
        ("<div style='x'>a <span>b</span></div>", "a b"),
        ("a </div> {{ b }} ]] c", "a c"),
        ("a {{ b [[ c <ref> d", "a b c d"),
        ("x < y > z", "x < y > z"),
    ],
)
def test_words_stay_and_markup_goes(text: str, expected: str) -> None:
    assert lead(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '{| class="x"\n|+ Cap\n! h !! style=a | k\n|-\n| a || b\n|- style=b\n| rowspan=2 | c\n| [[d|e]]\n|}\nend',
            "Cap\n\nh | k\na | b\nc | e\n\nend",
        ),
        ("{|\n|+ style=a | Cap\n|-\n|\n* one\n* two\n| x<br>y\n|}", "Cap\n\none, two | x y"),
        ('{|\n|-\n| rowspan="2" {{yes}} || {{no|Never}}\n|}', "Yes | Never"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a | b\nc"),
        ("{|\n| a\n{|\n| b\n|}\n|}", "a b"),
        ("never closed\n{| class=x\n|-\n! h\n|-\n| a || style=b | c\n", "never closed\n\nh\n\na | c"),
    ],
)
def test_a_row_of_a_table_is_a_line(text: str, expected: str) -> None:
    assert lead(text) == expected


def test_headings_cut_a_page_into_sections() -> None:
    parsed = read("Lead.\n== ''One'' [[two]] ==\n==== Deep ====\nwords here\n=== Back ===<!-- x -->\n= Top =\nlast")
    assert [(each.title, each.level, each.content, each.word_count) for each in parsed.sections] == [
        ("Loom", 1, "Lead.", 1),
        ("One two", 2, "", 0),
        ("Deep", 4, "words here", 2),
        ("Back", 3, "", 0),
        ("Top", 2, "last", 1),
    ]


def test_what_only_looks_like_a_heading_is_none() -> None:
    parsed = read("<nowiki>\n== a ==\n</nowiki>{{x|\n== b ==\n}}<!--\n== c ==\n-->== d == e")
    assert [each.title for each in parsed.sections] == ["Loom"]


def test_links_are_counted_wherever_they_are() -> None:
    parsed = read(
        "[[yarn]] [[Yarn#Kinds|x]] [[yarn|y]]<ref>[[Flax]]</ref>{{Infobox|a=[[Hemp]]}}\n{|\n| [[Silk]]\n|}\n"
        "[[File:A.png|thumb|[[Jute]]]]<gallery>\nA.png|[[Wool]]\n</gallery>{{main|Cotton#A|Felt}}{{about|x|y|Baize}}"
        "<nowiki>[[No]]</nowiki><!-- [[No]] --><pre>[[No]]</pre><math>[[No]]</math>"
        "[[Loom]] [[#Parts]] [[de:No]] [[Talk:No]] [[:Category:No]] [[no|]]"
    )
    assert parsed.links == {
        "Baize": 1, "Cotton": 1, "Felt": 1, "Flax": 1, "Hemp": 1, "Jute": 1, "No": 1, "Silk": 1, "Wool": 1, "Yarn": 3,
    }  # fmt: skip
    assert list(parsed.links) == sorted(parsed.links)


def test_categories_are_in_order_and_once() -> None:
    parsed = read("[[Category:Weaving|key]] [[category:tools_of trade]] [[Category:Weaving]] [[:Category:Other]]")
    assert list(parsed.categories) == ["Weaving", "Tools of trade"]


def test_a_redirect_is_a_link_without_words() -> None:
    parsed = read("#REDIRECT [[Power loom]]\n[[Category:R]]")
    assert (parsed.sections[0].content, parsed.links, parsed.categories) == ("", {"Power loom": 1}, ("R",))


def test_an_empty_page_has_an_empty_lead() -> None:
    assert [(each.title, each.content) for each in read("").sections] == [("Loom", "")]


def test_an_entity_in_a_link_is_the_sign_that_it_stands_for() -> None:
    found = parse(
        "See [[Salt &amp; pepper|spice]] and [[R&amp;B]]. [[Category:Salt &amp; vinegar]]", title="Food", site=SITE
    )
    assert dict(found.links) == {"R&B": 1, "Salt & pepper": 1}
    assert list(found.categories) == ["Salt & vinegar"]
    assert found.sections[0].content == "See spice and R&B."
