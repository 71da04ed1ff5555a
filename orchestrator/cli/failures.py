"""What a person sees when something goes wrong, and what a script sees. The only place that decides either."""

import errno
import re
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

import click
from click.exceptions import NoArgsIsHelpError

from graph_stores.errors import GraphmillError
from orchestrator.cli.options import GlobalOptions
from orchestrator.cli.text import dumps, printable

INTERRUPTED = 130
_OUTPUT_FAILED = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})
_PASSWORD_IN_URL = re.compile(r"(://[^\s:/@]*):\S*@")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    code: str
    message: str
    hint: str
    exit_code: int

    def document(self) -> dict[str, dict[str, str]]:
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}

    def lines(self) -> str:
        if self.code == "unexpected":
            return f"{self.message}; {self.hint}"
        return f"error: {self.message}" + (f"\nhint: {self.hint}" if self.hint else "")


def report(error: Exception, options: GlobalOptions) -> int:
    """Print the failure as asked for; returns the exit code."""
    if isinstance(error, click.Abort):
        print("stopped", file=sys.stderr)
        if options.json:
            print(dumps(stopped_document("stopped")))
        return INTERRUPTED
    if isinstance(error, NoArgsIsHelpError):
        print(error.format_message(), file=sys.stderr)
        return error.exit_code
    if options.verbose and not isinstance(error, click.ClickException):
        print(_without_secrets("".join(traceback.format_exception(error))), file=sys.stderr, end="")
    failure = _described(error, options)
    if options.json and failure.code != "output_failed":
        print(_without_secrets(dumps(failure.document())))
    else:
        print(printable(_without_secrets(failure.lines()), keep_lines=True), file=sys.stderr)
    return failure.exit_code


def stopped_document(message: str) -> dict[str, dict[str, str]]:
    return _Failure(code="stopped", message=message, hint="", exit_code=INTERRUPTED).document()


def warn(message: str) -> None:
    print(f"warning: {printable(message)}", file=sys.stderr)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a sentence about a word that is not known, or nothing."""
    near = get_close_matches(word, list(known), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _described(error: Exception, options: GlobalOptions) -> _Failure:
    match error:
        case GraphmillError():
            message, hint = options.complete_commands(error.message), options.complete_commands(error.hint)
            return _Failure(code=error.code, message=message, hint=hint, exit_code=error.exit_code)
        case click.ClickException():
            hint = _usage_hint(error)
            return _Failure(code="misuse", message=error.format_message(), hint=hint, exit_code=error.exit_code)
        case OSError() if error.errno in _OUTPUT_FAILED:
            return _Failure(
                code="output_failed", message=f"cannot write the output: {error.strerror}", hint="", exit_code=1
            )
        case _:
            message = f"unexpected error: {type(error).__name__}: {error}".rstrip(": ")
            return _Failure(code="unexpected", message=message, hint="run again with -v and report it", exit_code=1)


def _usage_hint(error: click.ClickException) -> str:
    ctx = getattr(error, "ctx", None)
    return f"see: {ctx.command_path} --help" if ctx else ""


def _without_secrets(text: str) -> str:
    return _PASSWORD_IN_URL.sub(r"\1:…@", text)
