"""Secrets in a text: which are found, what is not taken for one, and that no format gets around it.

The secrets are put together here, so that no file of the repository holds one.
"""

import io
import json
import random
import re
import string
import sysconfig
from pathlib import Path

import pytest

from pipelines.files.content import pack, unpack
from pipelines.files.making import Made, Task, make
from pipelines.files.model import CannotRead
from pipelines.files.parsing import check_readable, parse
from pipelines.files.secrets import Finding, find_secret, is_about_secret

LETTERS = string.ascii_letters + string.digits


def made_up(length: int, alphabet: str = LETTERS) -> str:
    return "aZ3" + "".join(random.Random(length).choices(alphabet, k=length - 3))


HEX, UPPER = string.hexdigits.lower()[:16], string.ascii_uppercase + "234567"
TOKEN = f"ghp_{made_up(36)}"
BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
KEY = f"{BEGIN}\nMIIEowIBAAKCAQEA{made_up(48)}\n{END}"
WITH_SLASHES = f"aws_secret_access_key={made_up(19)}/{made_up(20)}"
SECRETS = {
    "a private key": [KEY, KEY.replace("RSA", "OPENSSH"), KEY.replace("RSA ", ""), f"{BEGIN}\nabc\n{END}"],
    "an AWS access key": ["AKIA" + "1234567890ABCDEF", f"AKIAQ2{made_up(17, UPPER)[3:]}"],
    "an AWS secret key": [f"aws_secret_access_key = {made_up(40)}"],
    "an Azure storage key": [f"AccountKey={made_up(86)}=="],
    "a Databricks token": [f"dapi{made_up(35, HEX)[3:]}"],
    "a GitHub token": [TOKEN, f"github_pat_{made_up(22)}_{made_up(59)}"],
    "a GitLab token": [f"glpat-{made_up(20)}"],
    "a Google API key": [f"AIza{made_up(35)}"],
    "a Hugging Face token": [f"hf_{made_up(34)}"],
    "an npm token": [f"npm_{made_up(36)}"],
    "an Anthropic key": [f"sk-ant-api03-{made_up(80)}"],
    "an OpenAI key": [f"sk-proj-{made_up(60)}", f"sk-{made_up(48)}", f"sk-{made_up(35, HEX)[3:]}"],
    "a PyPI token": [f"pypi-AgEIcHlwaS5vcmc{made_up(60)}"],
    "a SendGrid key": [f"SG.{made_up(22)}.{made_up(43)}"],
    "a Slack token": [f"xoxb-{made_up(12, string.digits)}-{made_up(24)}"],
    "a Stripe key": [f"sk_live_{made_up(24)}"],
}


@pytest.mark.parametrize(("kind", "secret"), [(kind, each) for kind, some in SECRETS.items() for each in some])
def test_a_secret_is_found_by_its_shape_with_its_line_and_never_shown(kind: str, secret: str) -> None:
    for line in (secret, f"token: {secret}", f'key = "{secret}"', f"https://x.org/?k={secret}&a=b"):
        found = find_secret(f"# Notes\n\n{line}\n")
        assert found == Finding(kind=kind, line=3), line
        assert secret[-12:] not in str(found)


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        f"ghp_{'x' * 36}",
        f"sk-ant-{'0' * 40}",
        "sk-ant-api03-put-Your-own-key-here-and-run-it-again",
        "glpat-some-long-name-with-dashes-in-it",
        "sk-proj-the-name-of-a-project-with-dashes",
        "the risk-assessmentOfAllTheThingsThatCanGoWrongInAProject1 and task-list",
        f"`{BEGIN}` is how it begins, and then come\nlines of base64",
        f"{BEGIN}\n... (the key in base64) ...\n{END}",
        f'if text.startswith("{BEGIN}\\n" + encodedPrivateKeyOfSomeone):',
        f"{BEGIN}\nMIIE...\n{END}",
        f"{BEGIN}\n...\n",
        f"{BEGIN}\nMIIEowIBAAKCAQEA...\n{END}",
        f"{BEGIN}\n{'x' * 64}\n{'x' * 64}\n",
        f"{BEGIN} is how a key of RSA with 2048 bits begins and then come 30 lines of base64 and an end",
        f'key = "{BEGIN}\\n" + encodedPrivateKeyOfSomeone + "\\n{END}"',
        f'key = "{BEGIN}\\n" + encodedPrivateKeyOfSomeone + lineSeparatorOfTheSystem',
        f"my_ghp_{made_up(36)}",
        f"commit {made_up(40, HEX)}",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
    ],
)
def test_a_placeholder_a_mention_and_a_likeness_are_no_secret(text: str) -> None:
    assert find_secret(text) is None


LINES = [BEGIN, made_up(64), made_up(63), END]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f'    "{line}\\n" +' for line in LINES),
        "\n".join(f"# {line}" for line in LINES),
        "\n".join(f"// {line}" for line in LINES),
        "\n".join(f" * {line}" for line in LINES),
        "\n".join(f"> {line}" for line in LINES),
        "\n".join(f"+{line}" for line in LINES),
        "\n".join(f"-{line}" for line in LINES),
        " ".join(LINES),
        "".join(LINES),
        "<br>".join(LINES),
        "<br/>\n".join(f"<span class='k'>{line}</span>" for line in LINES),
        "&#10;".join(LINES),
        "%0A".join(LINES),
        "\\n".join(LINES),
        "\\\\n".join(LINES),
        "\\\\\\\\n".join(LINES),
        "\\u000a".join(LINES),
        "\\r\\n".join(LINES),
        json.dumps(LINES),
        json.dumps(json.dumps({"key": "\n".join(LINES)})),
        "\n".join([BEGIN, "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,00", "", *LINES[1:]]),
        "\n".join(LINES[:2]),
    ],
)
def test_a_private_key_is_found_in_every_syntax(text: str) -> None:
    assert find_secret(f"first\n{text}") == Finding(kind="a private key", line=2)


@pytest.mark.parametrize("before", ["\\n", "\\\\n", "\\t", "\\r", "\\u000a", "%0A", "%3D", '\\"', "&#10;", "ä", "-"])
@pytest.mark.parametrize("kind", sorted(SECRETS.keys() - {"a private key"}))
def test_a_token_is_found_after_an_escape(before: str, kind: str) -> None:
    for secret in SECRETS[kind]:
        assert find_secret(f'{{"text": "My token:{before}{secret}\\n"}}') == Finding(kind=kind, line=1)


@pytest.mark.parametrize(
    "text",
    [
        "secretAccessKey: {}",
        'secretAccessKey = "{}"',
        '"SecretAccessKey": "{}"',
        '\\"secretAccessKey\\": \\"{}\\"',
        '\\\\\\"aws_secret_access_key\\\\\\": \\\\\\"{}\\\\\\"',
        "<secretAccessKey>{}</secretAccessKey>",
        "'secretAccessKey' => '{}'",
    ],
)
def test_a_secret_key_of_aws_is_found_however_it_is_spelled(text: str) -> None:
    assert find_secret(text.format(made_up(40))) == Finding(kind="an AWS secret key", line=1)


MEGABYTE = 1 << 20
HEADER = "-----BEGIN PRIVATE KEY-----"


@pytest.mark.parametrize(
    "text",
    [
        *(
            f"{HEADER}\n{filler * (MEGABYTE // len(filler))}!"
            for filler in (" ", "\n", "\\n", "\\", "\\\\n", "<", "&", "-")
        ),
        *(f"{HEADER}{filler}" * (MEGABYTE // 32) for filler in ("", "\n", " \\n", "\\", "&", "\nabc ")),
        f"-----BEGIN {'A ' * MEGABYTE}",
        "secret_access_key" + " " * MEGABYTE,
        "xoxb-" * (MEGABYTE // 5),
    ],
    ids=lambda text: repr(text[:40]),
)
def test_the_work_grows_with_the_text_and_not_faster(text: str) -> None:
    """Where it grew with the square, each of them would take hours."""
    assert find_secret(text) is None


def test_nothing_in_the_sources_of_python_and_in_our_own_docs_is_taken_for_a_secret() -> None:
    docs = sorted((Path(__file__).parents[2] / "docs").glob("*.md"))
    sources = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    assert len(docs) > 10 and len(sources) > 100
    assert [(each.name, found) for each in (*docs, *sources) if (found := find_secret(each.read_text("utf-8")))] == []


def word_document(*texts: str, headings: bool = False) -> bytes:
    import docx

    document = docx.Document()
    document.add_paragraph("A letter.")
    for text in texts:
        if headings:
            document.add_heading(text)
        else:
            document.add_paragraph(text)
    into = io.BytesIO()
    document.save(into)
    return into.getvalue()


def notebook(source: str, output: str = "", *, kind: str = "code") -> bytes:
    outputs = [{"output_type": "stream", "name": "stdout", "text": [output]}]
    cell = {"cell_type": kind, "metadata": {}, "source": [source], "outputs": outputs, "execution_count": 1}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("a.md", f"# A\n\n    {TOKEN}\n".encode()),
        ("a.py", f'def f():\n    return "{TOKEN}"\n'.encode()),
        ("a.txt", f"a {TOKEN}".encode("utf-16")),
        ("a.html", f"<p>{TOKEN}</p>".encode()),
        ("a.rst", f"A\n=\n\n{TOKEN}\n".encode()),
        ("a.csv", f"name,token\na,{TOKEN}\n".encode()),
        ("a.json", json.dumps({"private_key": KEY}).encode()),
        ("a.json", json.dumps({"token": TOKEN}).replace("ghp_", "\\u0067hp_").encode()),
        ("a.jsonl", json.dumps({"token": TOKEN}).encode()),
        ("a.ipynb", notebook(f'token = "{TOKEN}"')),
        ("a.ipynb", notebook("print(token)", output=TOKEN)),
        ("a.ipynb", notebook(f"My token:\n{TOKEN}", kind="markdown")),
        ("a.ipynb", notebook('key = "' + KEY.replace("\n", "\\n") + '"')),
        ("a.ipynb", notebook(f"a = 1\n{WITH_SLASHES}").replace(b"/", b"\\/")),
        ("a.json", json.dumps({"config": json.dumps({"key": KEY})}).encode()),
        ("a.json", json.dumps({"text": f"My token:\n{TOKEN}"}).encode()),
        ("a.json", json.dumps({"text": WITH_SLASHES}).replace("/", "\\/").encode()),
        ("a.jsonl", json.dumps({"text": WITH_SLASHES}).replace("/", "\\/").encode()),
        ("a.html", "<br>".join(LINES).encode()),
        ("a.html", f"<p>{TOKEN[:12]}<b>{TOKEN[12:]}</b></p>".encode()),
        ("a.html", f"<p>&#103;{TOKEN[1:]}</p>".encode()),
        ("page", f"<!doctype html><p>&#103;{TOKEN[1:]}</p>".encode()),
        ("a.docx", word_document(f"The token is {TOKEN}.")),
        ("a.docx", word_document(*LINES)),
        ("a.docx", word_document(*LINES, headings=True)),
        ("Key.java", "\n".join(f'    "{line}\\n" +' for line in LINES).encode()),
        ("Dockerfile", f"ENV TOKEN={TOKEN}\n".encode()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_no_format_gets_around_it_nor_does_content_that_is_brought_along(
    tmp_path: Path, path: str, data: bytes
) -> None:
    place = tmp_path / path
    place.write_bytes(data)

    def read(*, packed: str | None = None, allow_secrets: bool = False) -> Made:
        return make(Task(file="f", location=str(place), path=path, packed=packed, allow_secrets=allow_secrets))

    made = read()
    assert made.content_hash and not made.parts and is_about_secret(made.manifest.skip), made
    assert TOKEN[8:] not in str(made)
    packed = pack(place, path).text
    assert packed is not None and unpack(packed).data is None and unpack(packed).reason == made.manifest.skip
    assert read(packed=packed) == made
    allowed = read(allow_secrets=True)
    assert allowed.parts and allowed.manifest.skip is None
    brought = pack(place, path, allow_secrets=True).text
    assert read(packed=brought, allow_secrets=True) == allowed
    assert is_about_secret(read(packed=brought).manifest.skip)
    for check in (check_readable, parse):
        with pytest.raises(CannotRead):
            check(path, data)


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        ("a.html", f"<h1>A</h1>\n<p>a</p>\n<h1>B</h1>\n<p>&#103;{TOKEN[1:]}</p>".encode(), "a GitHub token (line 3)"),
        ("a.html", f'<p>a</p>\n<a href="b?k=&#103;{TOKEN[1:]}">b</a>'.encode(), "a GitHub token (line 2)"),
        ("a.html", f"<title>&#103;{TOKEN[1:]}</title>\n<p>a</p>".encode(), "a GitHub token (line 2)"),
        ("a.docx", word_document("a", *LINES, headings=True), "a private key (paragraph 3)"),
    ],
)
def test_a_secret_that_only_reading_shows_is_told_with_where_its_part_begins(
    path: str, data: bytes, reason: str
) -> None:
    for check in (check_readable, parse):
        with pytest.raises(CannotRead, match=re.escape(f"holds {reason}")):
            check(path, data)


def test_the_paths_of_a_drawing_are_no_text() -> None:
    for check in (check_readable, parse):
        with pytest.raises(CannotRead, match="an image: SVG"):
            check("logo.svg", b'<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0L10 10"/></svg>')
