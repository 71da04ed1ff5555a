"""Finds secrets in a text by their shape: private keys and tokens of common services.

Precise before complete: a file that is taken for a secret is missing from the graph. So a kind is in the table only if
its tokens have a shape that nothing else has; passwords and tokens without one are not found. What was found is never
told, only its kind and its line.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

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
        if len(set(token[-16:])) < _FEWEST_CHARACTERS or _PLACEHOLDER.search(token):
            return False
        return not self.mixed or (token != token.lower() and token != token.upper())


_FEWEST_CHARACTERS = 6
_PLACEHOLDER = re.compile(r"example|placeholder|your|dummy|xxxx|\*\*\*\*", re.IGNORECASE)
# A header alone is in every text about keys: base64 must follow on a line of its own. In code and JSON the end of a
# line is escaped, and the lines are in quotes.
_PRIVATE_KEY = r"""
    -----BEGIN\ (?:[A-Z0-9]+\ ){0,3}PRIVATE\ KEY(?:\ BLOCK)?-----
    [ \t]* (?:\\[rn]|[\r\n]) (?:\\[rn]|[\s"',\\])*
    (?: (?:Proc-Type|DEK-Info|Version|Comment):
      | [A-Za-z0-9+/=]{16}
      | (?:[A-Za-z0-9+/=\s]|\\[rn])+ -----END )
"""
_KINDS = (
    _Kind("a private key", ("PRIVATE KEY",), re.compile(_PRIVATE_KEY, re.VERBOSE)),
    _Kind("an age secret key", ("AGE-SECRET-KEY-1",), re.compile(r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b")),
    _Kind("an AWS access key", ("AKIA", "ASIA"), re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    _Kind(
        "an AWS secret key",
        ("secret_access_key", "SecretAccessKey", "SECRET_ACCESS_KEY"),
        re.compile(r"(?i:secret_?access_?key)[\"']?\s*[=:]\s*[\"']?[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"),
    ),
    _Kind("an Azure storage key", ("AccountKey=",), re.compile(r"\bAccountKey=[A-Za-z0-9+/]{86}==")),
    _Kind("a Databricks token", ("dapi",), re.compile(r"\bdapi[0-9a-f]{32}\b")),
    _Kind("a DigitalOcean token", ("_v1_",), re.compile(r"\bdo[opr]_v1_[0-9a-f]{64}\b")),
    _Kind(
        "a GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        re.compile(r"\b(?:gh[opsru]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})\b"),
    ),
    _Kind("a GitLab token", ("glpat-",), re.compile(r"\bglpat-[A-Za-z0-9_-]{20,}"), mixed=True),
    _Kind("a Google API key", ("AIza",), re.compile(r"\bAIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])")),
    _Kind("a Google OAuth secret", ("GOCSPX-",), re.compile(r"\bGOCSPX-[0-9A-Za-z_-]{28}(?![0-9A-Za-z_-])")),
    _Kind("a Hugging Face token", ("hf_",), re.compile(r"\bhf_[A-Za-z0-9]{34}\b")),
    _Kind("an npm token", ("npm_",), re.compile(r"\bnpm_[A-Za-z0-9]{36}\b")),
    _Kind("an Anthropic key", ("sk-ant-",), re.compile(r"\bsk-ant-[A-Za-z0-9_-]{20,}"), mixed=True),
    _Kind(
        "an OpenAI key",
        ("sk-proj-", "sk-svcacct-", "sk-admin-"),
        re.compile(r"\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}"),
        mixed=True,
    ),
    # Services with the same interface give keys of the same shape.
    _Kind("an OpenAI key", ("sk-",), re.compile(r"\bsk-[A-Za-z0-9]{32,64}\b")),
    _Kind("a PyPI token", ("pypi-AgE",), re.compile(r"\bpypi-AgE[A-Za-z0-9_-]{50,}")),
    _Kind("a SendGrid key", ("SG.",), re.compile(r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])")),
    _Kind("a Slack token", ("xox", "xapp-"), re.compile(r"\b(?:xox[abeoprs]|xapp)-[0-9A-Za-z]+-[0-9A-Za-z-]{16,}")),
    _Kind(
        "a Slack webhook",
        ("hooks.slack.com/services/",),
        re.compile(r"hooks\.slack\.com/services/T[0-9A-Z]{6,}/B[0-9A-Z]{6,}/[0-9A-Za-z]{20,}"),
    ),
    _Kind("a Stripe key", ("k_live_",), re.compile(r"\b[rs]k_live_[0-9A-Za-z]{20,}")),
)
_ESCAPED = re.compile(r"\\u00([2-7][0-9a-fA-F])")


def find_secret(text: str) -> Finding | None:
    """The first secret in a text. Letters that JSON has escaped are read as what they are."""
    if "\\u00" in text:
        text = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
    found = [(start, kind.name) for kind in _KINDS if (start := next(kind.starts(text), None)) is not None]
    if not found:
        return None
    start, name = min(found)
    return Finding(kind=name, line=text.count("\n", 0, start) + 1)


def refuse_secret(text: str) -> None:
    """Raise CannotRead for a text with a secret in it."""
    if finding := find_secret(text):
        raise CannotRead(finding.reason())


def is_about_secret(reason: str | None) -> bool:
    """Whether a file was left out because of a secret in it, by the reason that its node has."""
    return bool(reason and reason.startswith(_HOLDS))
