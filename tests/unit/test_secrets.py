"""Secrets in a text: which are found, what is not taken for one, and that no format gets around it.

The secrets are put together here, so that no file of the repository holds one.
"""

import io
import json
import random
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


def word_document(text: str) -> bytes:
    import docx

    document = docx.Document()
    document.add_paragraph("A letter.")
    document.add_paragraph(text)
    into = io.BytesIO()
    document.save(into)
    return into.getvalue()


def notebook(source: str, output: str = "") -> bytes:
    outputs = [{"output_type": "stream", "name": "stdout", "text": [output]}]
    cell = {"cell_type": "code", "metadata": {}, "source": [source], "outputs": outputs, "execution_count": 1}
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
        ("a.docx", word_document(f"The token is {TOKEN}.")),
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


def test_the_paths_of_a_drawing_are_no_text() -> None:
    for check in (check_readable, parse):
        with pytest.raises(CannotRead, match="an image: SVG"):
            check("logo.svg", b'<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0L10 10"/></svg>')
