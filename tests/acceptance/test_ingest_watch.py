"""`ingest --watch`: what is edited, added and removed while it runs is in the graph soon after, and costs no more."""

import signal
import time

from .jobs import DEADLINE, Mill, Running, eventually

MANY = 1000
# How long changes are gathered before they are looked at as one, at most.
BURST = 1.6


def write(mill: Mill, path: str, text: str) -> None:
    place = mill.root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def followed(mill: Mill) -> Running:
    """A job that has read what there is, and follows the folder."""
    job = mill.ingest("--watch", "--json")
    assert mill.embedder.asked.wait(DEADLINE)
    eventually(lambda: is_at_rest(mill), "the first state of the folder is ready")
    return job


def is_at_rest(mill: Mill) -> bool:
    standing = mill.standing()
    return bool(standing.total) and not standing.remaining


def files(mill: Mill) -> int:
    return sum(mill.standing().labels.get("File", {}).values())


def ready_titles(mill: Mill) -> set[str]:
    rows = mill.ask("MATCH (s:MarkdownSection) WHERE s._state = 'ready' RETURN s.title AS title")
    return {str(title) for (title,) in rows}


def test_what_changes_is_ready_soon_a_burst_is_one_change_and_what_goes_is_gone(mill: Mill) -> None:
    write(mill, "a.md", "# Old\n\nwords\n")
    job = followed(mill)
    write(mill, "a.md", "# New\n\nother words\n")
    eventually(lambda: ready_titles(mill) == {"New"}, "the edit is ready")

    began = time.monotonic()
    for number in range(MANY):
        write(mill, f"many/{number}.txt", f"line of file {number}\n")
    took = time.monotonic() - began
    eventually(lambda: files(mill) == MANY + 1 and is_at_rest(mill), "the burst is ready")

    for place in (mill.root / "many").iterdir():
        place.unlink()
    (mill.root / "many").rmdir()
    eventually(lambda: files(mill) == 1 and is_at_rest(mill), "what was removed is gone")

    job.hears(signal.SIGTERM)
    told = job.end().json
    assert (told["stopped"], told["states"]) == (True, {"ready": told["total"]})
    assert (told["parsed"], told["deleted"]) == (MANY + 2, MANY)
    # Each look at the folder counts all of its files: of the thousand there were a few, and not a thousand.
    assert told["read"] < (3 + took / BURST) * MANY


def test_what_is_ignored_is_not_even_looked_at(mill: Mill) -> None:
    write(mill, ".gitignore", "build/\n*.log\n")
    write(mill, "a.md", "# A\n\nwords\n")
    write(mill, "build/old.txt", "made\n")
    job = followed(mill)
    for _ in range(2):
        for number in range(100):
            write(mill, f"build/{number}.txt", "made\n")
            write(mill, "mill.log", f"line {number}\n")
        # A command takes longer than changes are gathered.
        assert sum(mill.cli("status", "--json").json["labels"]["File"].values()) == 2
    job.hears(signal.SIGTERM)
    # Once at the start, and once when the watch began.
    assert job.end().json["read"] <= 4
