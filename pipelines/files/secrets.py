"""Finds secrets in a text by their shape: private keys and tokens of common services.

Precise before complete: a file that is taken for a secret is missing from the graph. So a kind is in the table only if
its tokens have a shape that nothing else has; passwords and tokens without one are not found. What was found is never
told, only its kind and its line.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from itertools import takewhile

from pipelines.files.model import CannotRead

_HOLDS = "holds "


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    kind: str
    line: int

    def reason(self, unit: str = "line") -> str:
        return f"{_HOLDS}{self.kind} ({unit} {self.line})"


@dataclass(frozen=True, slots=True)
class _Kind:
    """A text without any of the `signs` has no such secret: to look for them is many times faster than the pattern."""

    name: str
    signs: tuple[str, ...]
    pattern: re.Pattern[str]
    mixed: bool = False
    """Whether the shape is also that of words with dashes: then it must have upper and lower case letters."""

    def starts(self, text: str) -> Iterator[int]:
        if any(sign in text for sign in self.signs):
            for match in self.pattern.finditer(text):
                if self._is_real(match.group()):
                    yield match.start()

    def _is_real(self, token: str) -> bool:
        if _is_placeholder(token):
            return False
        return not self.mixed or (token != token.lower() and token != token.upper())


_FEWEST_CHARACTERS = 6
_PLACEHOLDER = re.compile(r"example|placeholder|your|dummy|xxxx|\*\*\*\*", re.IGNORECASE)


def _is_placeholder(token: str) -> bool:
    return len(set(token[-16:])) < _FEWEST_CHARACTERS or bool(_PLACEHOLDER.search(token))


_BASE64 = re.compile(r"[A-Za-z0-9+/=]+")
_HEADER = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_DASHES = "-----"
_MOST_AFTER_HEADER = 2_000
_FEWEST_BASE64 = 40
_SHORTEST_LINE = 16
# The end of a line as code, JSON, a URL and HTML write it.
_ESCAPED_BREAK = re.compile(r"\\{1,8}(?:[nrt]|u00[01][0-9a-fA-F]|x0[0-9a-fA-F])|%0[AaDd]|<[^<>]{0,200}>")
_BETWEEN_LINES = str.maketrans({"\\": "", **dict.fromkeys("\"'`,;#*>|%-", " ")})
_SHORT_KEY = re.compile(r"[ \t]*(?:\\[rn]|[\r\n])(?:[A-Za-z0-9+/=\s]|\\[rn])*")
_BEFORE_BASE64 = re.compile(r"[\s\"'`,;#*>|+\\-]*(?:Proc-Type|DEK-Info|Version|Comment):")


class _PrivateKeys:
    """Keys in base64 after a header, in whatever syntax: of a string, a comment, a quote, a diff, a page.

    A header alone is in every text about keys. Plain steps over a bounded window, which ends at the next dashes: so the
    work grows with the text and not faster.
    """

    name = "a private key"
    signs = ("PRIVATE KEY",)

    def starts(self, text: str) -> Iterator[int]:
        for header in _HEADER.finditer(text):
            begin, most = header.end(), header.end() + _MOST_AFTER_HEADER
            end = text.find(_DASHES, begin, most)
            window = text[begin : most if end < 0 else end]
            is_short = text.startswith("-----END", end) and _is_short_key(window)
            if is_short or _is_key(window):
                yield header.start()


def _is_short_key(window: str) -> bool:
    """Nothing but base64 and breaks between the header and the end."""
    if not _SHORT_KEY.fullmatch(window) or _PLACEHOLDER.search(window):
        return False
    return bool(_ESCAPED_BREAK.sub("", window).strip())


def _is_key(window: str) -> bool:
    text = _ESCAPED_BREAK.sub(" ", unescape(window))
    if _BEFORE_BASE64.match(text):
        return True
    words = [word for word in text.translate(_BETWEEN_LINES).split() if any(map(str.isalnum, word))]
    base64 = list(takewhile(_BASE64.fullmatch, words))
    if not base64 or len(base64[0]) < _SHORTEST_LINE:
        return False
    key = "".join(base64)
    # Names in code have letters of both cases too, but hardly digits.
    mixed = any(map(str.isdigit, key)) and key != key.lower() and key != key.upper()
    return len(key) >= _FEWEST_BASE64 and mixed and not _is_placeholder(key[:64])


# A token begins after what is no letter, and after an escape, which ends with one.
_BEGINS = r"(?:(?<![A-Za-z0-9_])|(?<=\\[bfnrt])|(?<=\\u00[01][0-9a-fA-F])|(?<=%[0-9A-F][0-9A-F]))"
# In a string in a string, a quote has several backslashes.
_QUOTE = r"\\{0,8}[\"']?"


def _token(pattern: str) -> re.Pattern[str]:
    return re.compile(_BEGINS + pattern, re.ASCII)


_KINDS = (
    _PrivateKeys(),
    _Kind("an age secret key", ("AGE-SECRET-KEY-1",), _token(r"AGE-SECRET-KEY-1[0-9A-Z]{58}\b")),
    _Kind("an AWS access key", ("AKIA", "ASIA"), _token(r"(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    _Kind(
        "an AWS secret key",
        ("secret_access_key", "SecretAccessKey", "secretAccessKey", "SECRET_ACCESS_KEY"),
        re.compile(rf"(?i:secret_?access_?key){_QUOTE}\s*(?:=>|[=:>])\s*{_QUOTE}[A-Za-z0-9/+]{{40}}(?![A-Za-z0-9/+=])"),
    ),
    _Kind("an Azure storage key", ("AccountKey=",), _token(r"AccountKey=[A-Za-z0-9+/]{86}==")),
    _Kind("a Databricks token", ("dapi",), _token(r"dapi[0-9a-f]{32}\b")),
    _Kind("a DigitalOcean token", ("_v1_",), _token(r"do[opr]_v1_[0-9a-f]{64}\b")),
    _Kind(
        "a GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        _token(r"(?:gh[opsru]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})\b"),
    ),
    _Kind("a GitLab token", ("glpat-",), _token(r"glpat-[A-Za-z0-9_-]{20,}"), mixed=True),
    _Kind("a Google API key", ("AIza",), _token(r"AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])")),
    _Kind("a Google OAuth secret", ("GOCSPX-",), _token(r"GOCSPX-[0-9A-Za-z_-]{28}(?![0-9A-Za-z_-])")),
    _Kind("a Hugging Face token", ("hf_",), _token(r"hf_[A-Za-z0-9]{34}\b")),
    _Kind("an npm token", ("npm_",), _token(r"npm_[A-Za-z0-9]{36}\b")),
    _Kind("an Anthropic key", ("sk-ant-",), _token(r"sk-ant-[A-Za-z0-9_-]{20,}"), mixed=True),
    _Kind(
        "an OpenAI key",
        ("sk-proj-", "sk-svcacct-", "sk-admin-"),
        _token(r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}"),
        mixed=True,
    ),
    # Services with the same interface give keys of the same shape.
    _Kind("an OpenAI key", ("sk-",), _token(r"sk-[A-Za-z0-9]{32,64}\b")),
    _Kind("a PyPI token", ("pypi-AgE",), _token(r"pypi-AgE[A-Za-z0-9_-]{50,}")),
    _Kind("a SendGrid key", ("SG.",), _token(r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])")),
    _Kind("a Slack token", ("xox", "xapp-"), _token(r"(?:xox[abeoprs]|xapp)-[0-9A-Za-z]+-[0-9A-Za-z-]{16,}")),
    _Kind(
        "a Slack webhook",
        ("hooks.slack.com",),
        re.compile(r"hooks\.slack\.com\\?/services\\?/T[0-9A-Z]{6,}\\?/B[0-9A-Z]{6,}\\?/[0-9A-Za-z]{20,}"),
    ),
    _Kind("a Stripe key", ("k_live_",), _token(r"[rs]k_live_[0-9A-Za-z]{20,}")),
)
_ESCAPED = re.compile(r"\\u00([2-7][0-9a-fA-F])")


def find_secret(text: str) -> Finding | None:
    """The first secret in a text. Letters that JSON has escaped are read as what they are."""
    text = _unescaped(text)
    found = [(start, kind.name) for kind in _KINDS if (start := next(kind.starts(text), None)) is not None]
    if not found:
        return None
    start, name = min(found)
    return Finding(kind=name, line=text.count("\n", 0, start) + 1)


def has_sign(text: str) -> bool:
    """False where a text in JSON holds no secret, however its strings are escaped."""
    text = _unescaped(text)
    return any(sign in text for kind in _KINDS for sign in kind.signs)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "\\u00" in text else text


def refuse_secret(text: str) -> None:
    """Raise CannotRead for a text with a secret in it."""
    if finding := find_secret(text):
        raise CannotRead(finding.reason())


def is_about_secret(reason: str | None) -> bool:
    """Whether a file was left out because of a secret in it, by the reason that its node has."""
    return bool(reason and reason.startswith(_HOLDS))
