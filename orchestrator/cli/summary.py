"""What is said at the end of a job: to a person in a few sentences, to a script as one document."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from orchestrator.cli.text import duration, printable
from orchestrator.files.roots import KIND as FILES
from orchestrator.job import Report
from orchestrator.states import State
from orchestrator.tally import Tally
from orchestrator.wikipedia.wikis import KIND as WIKI

_SHOWN_REASONS = 5


def document(report: Report) -> dict[str, Any]:
    """The shape that `ingest --json` and `worker --json` promise."""
    tally = report.tally
    return {
        **report.standing.document(),
        "read": tally.read,
        "parsed": tally.parsed,
        "embedded": tally.embedded,
        "cached": tally.cached,
        "unchanged": tally.unchanged,
        "deleted": tally.deleted,
        "seconds": round(report.seconds, 3),
        "stopped": report.stopped,
        "default_excludes": _excluded_counts(report),
        "left_out": [{"path": each.path, "reason": each.reason} for each in report.left_out],
        "runs": [run.document() for run in report.runs],
    }


def sentences(
    report: Report,
    skipped: Mapping[str, int],
    unread: Mapping[str, int],
    graphmill: str,
    *,
    until_stopped: bool,
    dry_run: str = "",
    next_command: str = 'search "…"',
) -> list[str]:
    """By reason: `skipped` counts files whose text is not in the graph, `unread` titles that articles link to.

    `dry_run` is the command that lists what is left out.
    """
    left_out = Counter(each.reason for each in report.left_out)
    return [
        _deeds(report),
        *_excluded(report, dry_run),
        *_reasons("file", "left out", left_out, "all of them: --json"),
        *_reasons("file", "without text", skipped, f"see: {graphmill} query --name skipped"),
        *_reasons("title", "linked to and not read", unread, f"see: {graphmill} query --name stubs"),
        *_end(report, graphmill, until_stopped=until_stopped, next_command=next_command),
    ]


def _end(report: Report, graphmill: str, *, until_stopped: bool, next_command: str) -> list[str]:
    standing = report.standing
    lines = [f"{_nodes(standing.in_error)} in error; see: {graphmill} errors"] if standing.in_error else []
    lines += _runs(report, graphmill)
    if report.stopped and not until_stopped:
        left = f" with {_nodes(standing.remaining)} left" if standing.remaining else ""
        lines.append(f"stopped{left}: the same command goes on from here")
    elif standing.remaining:
        others = ", left to others at work" if any(not each.is_gone for each in standing.workers) else ""
        lines.append(f"{_nodes(standing.remaining)} not yet at rest{others}; see: {graphmill} status")
    elif (ready := standing.states.get(State.READY)) and not report.lost:
        lines.append(f"{_nodes(ready)} ready; next: {graphmill} {next_command}")
    return lines


def _runs(report: Report, graphmill: str) -> list[str]:
    """Only of those that did not end as they should. The source that was lost is told as the error of the command."""
    lines: list[str] = []
    for run in report.runs:
        if report.lost and report.lost.message in (run.reason or ""):
            continue
        if run.state is State.ERROR:
            lines.append(
                f"the run over {printable(run.source)} failed: {printable(run.reason or '')}; "
                f"then: {graphmill} runs retry {run.short}"
            )
        elif run.state is State.SKIP:
            lines.append(f"the run over {printable(run.source)} was cancelled: {printable(run.reason or '')}")
    return lines


def _deeds(report: Report) -> str:
    tally = report.tally
    done = ", ".join([*_looked_at(report), *([f"{tally.deleted:,} deleted"] if tally.deleted else [])])
    told = [*([done] if done else []), *([_embedded(tally)] if tally.embedded else [])]
    nothing = "no files found" if any(run.kind == FILES for run in report.runs) else "nothing done"
    return f"{'; '.join(told) or nothing} in {_seconds(report.seconds)}"


def _embedded(tally: Tally) -> str:
    cached = f" ({tally.cached:,} from the cache)" if tally.cached else ""
    return f"{_counted(tally.embedded, 'text')} embedded{cached}"


def _looked_at(report: Report) -> list[str]:
    """A file counts as read and as unchanged; a title that was only compared is not counted as read."""
    tally, what = report.tally, _what_was_read(report)
    if what == "article" and tally.read and (tally.unchanged or tally.parsed != tally.read):
        titles = f"{_counted(tally.read, 'title')} looked up, {_counted(tally.parsed, what)} parsed"
        return [titles, *([f"{tally.unchanged:,} unchanged"] if tally.unchanged else [])]
    checked = max(tally.read, tally.unchanged)
    changed = checked - tally.unchanged
    if not checked:
        return [f"{_counted(tally.parsed, what)} parsed"] if tally.parsed else []
    if not changed and not tally.parsed:
        return [f"{_counted(checked, what)} checked, {'all ' if checked > 1 else ''}unchanged"]
    left = f" ({tally.parsed - changed:,} left from before)" if tally.parsed > changed else ""
    parsed = [f"{tally.parsed:,} parsed{left}"] if tally.parsed != changed else []
    if not tally.unchanged:
        return [f"{_counted(checked, what)} read", *parsed]
    first, *rest = [*([f"{changed:,} new or changed"] if changed else []), *parsed, f"{tally.unchanged:,} unchanged"]
    return [f"{_counted(checked, what)} checked: {first}", *rest]


def _what_was_read(report: Report) -> str:
    known = {FILES: "file", WIKI: "article"}
    kinds = set(report.kinds) or {run.kind for run in report.runs} & set(known)
    if not kinds:
        kinds = {kind for kind, label in ((FILES, "File"), (WIKI, "Article")) if label in report.standing.labels}
    return known[kinds.pop()] if len(kinds) == 1 else "source"


def _excluded_counts(report: Report) -> dict[str, int]:
    folders = sum(each.folder for each in report.excluded)
    return {"files": len(report.excluded) - folders, "folders": folders}


def _excluded(report: Report, dry_run: str) -> list[str]:
    if not report.excluded:
        return []
    counts = _excluded_counts(report)
    told = [f"{count:,} {what[:-1] if count == 1 else what}" for what, count in counts.items() if count]
    reasons = Counter(each.reason for each in report.excluded).most_common()
    shown = ", ".join(reason for reason, _ in reasons[:_SHOWN_REASONS]) + (
        ", …" if len(reasons) > _SHOWN_REASONS else ""
    )
    return [f"{' and '.join(told)} left out by default: {shown}; all of it: {dry_run}"]


def _reasons(noun: str, what: str, counts: Mapping[str, int], all_of_them: str) -> list[str]:
    if not counts:
        return []
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    lines = [f"  {count:,}  {printable(reason)}" for reason, count in ordered[:_SHOWN_REASONS]]
    if more := ordered[_SHOWN_REASONS:]:
        lines.append(f"  {sum(count for _, count in more):,}  for other reasons")
    total = sum(counts.values())
    return [f"{_counted(total, noun)} {what} ({all_of_them}):", *lines]


def _nodes(count: int) -> str:
    return _counted(count, "node")


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else duration(seconds)
