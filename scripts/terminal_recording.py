"""Records a terminal session of graphmill as an animated SVG: `scripts/picture`.

The commands run in a real shell behind a pseudo-terminal; a terminal emulator turns their bytes into screens. The last
screen holds the whole session, and is what a viewer without animations shows.
"""

import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import psutil
import pyte  # type: ignore[import-not-found] # scripts/picture brings it

COLUMNS, ROWS = 92, 26
PROMPT = "$ "
PLACE = Path("/tmp/demo")  # noqa: S108 - it is seen in the picture, and made anew
DEADLINE = 600.0
MOST_SHOTS = 5  # of one command while it runs
# A part of Python's standard library: real code that is on every machine.
FOLDER, PACKAGES = "stdlib", ("asyncio", "concurrent", "email", "http", "json", "logging", "unittest", "xml")
STATES = "MATCH (s:Scope) RETURN s._state AS state, count(*) AS scopes"
SEARCH = "cancel the task when the timeout expires"

CELL_WIDTH, CELL_HEIGHT, MARGIN, BAR = 8.4, 19.0, 16, 34
FONTS = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace'
INK, PAPER, FRAME = "#d6deeb", "#0f1720", "#3b4754"
COLOURS = {"green": "#8bd649", "red": "#ff6b6b", "cyan": "#5ccfe6", "blue": "#7aa2f7", "magenta": "#e879c6"}

Cell = tuple[str, str, bool]  # character, colour, bold


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """A screen, and for how many seconds it is shown."""

    lines: Sequence[Sequence[Cell]]
    seconds: float


class Session:
    """A shell in a terminal."""

    def __init__(self, folder: Path) -> None:
        self.shots: list[Shot] = []
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self._screen)
        self._here, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environment = os.environ | {"PS1": PROMPT, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        self._shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-i"],
            cwd=folder,
            env=environment,
            stdin=there,
            stdout=there,
            stderr=there,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - the shell needs it for its jobs
        )
        os.close(there)
        self._wait(self._is_asking)

    def run(self, command: str, *, until: Callable[[str], bool] | None = None, seconds: float = 2.5) -> None:
        """Type the command; while it runs, keep a shot of what changes. It is killed once the screen shows `until`."""
        os.write(self._here, command.encode())
        self._wait(lambda: self._text().replace("\n", "").endswith(command))
        self.keep(1.2)
        os.write(self._here, b"\n")
        begun, killed = len(self.shots), False
        for _ in self._looks():
            if self._is_asking():
                break
            if until and not killed and until(self._text()):
                self._kill()
                killed = True
            elif not killed:
                self._keep_news(0.7)
        running = self.shots[begun:]
        self.shots[begun:] = running[:: -(-len(running) // MOST_SHOTS) or 1]
        self.keep(seconds)

    def keep(self, seconds: float) -> None:
        self.shots.append(Shot(lines=self._lines(), seconds=seconds))

    def close(self) -> None:
        self._shell.kill()
        self._shell.wait()
        os.close(self._here)

    def _kill(self) -> None:
        """As from another terminal, with a line that says so: the shell itself only tells that it was killed."""
        [job] = psutil.Process(self._shell.pid).children()
        self._stream.feed(f"\r\n\x1b[38;5;244m# in another terminal: kill -9 {job.pid}\x1b[0m\r\n".encode())
        job.send_signal(signal.SIGKILL)

    def _keep_news(self, seconds: float) -> None:
        if self._lines() != self.shots[-1].lines:
            self.keep(seconds)

    def _is_asking(self) -> bool:
        """The prompt is there, with nothing behind it, and the shell has no job in the foreground."""
        line = self._screen.display[self._screen.cursor.y].rstrip()
        return line == PROMPT.strip() and os.tcgetpgrp(self._here) == self._shell.pid

    def _wait(self, found: Callable[[], bool]) -> None:
        for _ in self._looks():
            if found():
                return

    def _looks(self) -> Iterator[None]:
        """Once for whatever the terminal has to show."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            if select.select([self._here], [], [], 0.2)[0]:
                self._stream.feed(os.read(self._here, 1 << 16))
            yield
        raise SystemExit(f"still not there after {DEADLINE:.0f} s:\n{self._text()}")

    def _text(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip("\n")

    def _lines(self) -> list[list[Cell]]:
        rows = (self._screen.buffer[row] for row in range(ROWS))
        return [[_cell(row[column]) for column in range(COLUMNS)] for row in rows]


def _cell(char: Any) -> Cell:  # Any: pyte has no types
    exact = f"#{char.fg}" if len(char.fg) == 6 else INK  # six digits, or a name
    return char.data, COLOURS.get(char.fg, exact), char.bold


def record(folder: Path) -> list[Shot]:
    session = Session(folder)
    try:
        session.run(f"graphmill ingest {FOLDER}", until=_is_half_embedded, seconds=2.5)
        session.run(f'graphmill query "{STATES}"', seconds=4)
        session.run(f"graphmill ingest {FOLDER}", seconds=3)
        session.run(f"graphmill search '{SEARCH}' --limit 1", seconds=5)
        # At its beginning too: a viewer that draws only the first moment shows the whole session.
        return [replace(session.shots[-1], seconds=3), *session.shots]
    finally:
        session.close()


def _is_half_embedded(text: str) -> bool:
    """By the bar: `embed ━━━━ 2,048 of 3,964 · …`."""
    lines = [line.replace(",", "").split() for line in text.splitlines() if line.startswith("embed")]
    for words in lines:
        if "of" in words:
            place = words.index("of")
            done, total = int(words[place - 1]), int(words[place + 1])
            return total > 0 and done >= 0.3 * total
    return False


def draw(shots: Sequence[Shot]) -> str:
    rows = max(row + 1 for row, line in enumerate(shots[-1].lines) if any(cell[0] != " " for cell in line))
    width, height = COLUMNS * CELL_WIDTH + 2 * MARGIN, rows * CELL_HEIGHT + BAR + MARGIN
    total = sum(shot.seconds for shot in shots)
    frames, rules, begin = [], [], 0.0
    for number, shot in enumerate(shots):
        end = begin + shot.seconds
        rules.append(_rule(number, 100 * begin / total, 100 * end / total))
        last = " last" if number == len(shots) - 1 else ""
        frames.append(f'<g class="frame f{number}{last}">{"".join(_texts(shot, rows))}</g>')
        begin = end
    dots = "".join(
        f'<circle cx="{MARGIN + 6 + 18 * number}" cy="{BAR / 2:g}" r="5.5" fill="{colour}"/>'
        for number, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"
  role="img">
<title>graphmill in a terminal: a job is killed, asked about, continued and searched</title>
<style>
text {{ font: 14px {FONTS}; white-space: pre }}
.bold {{ font-weight: bold }}
.frame {{ opacity: 0 }}
.last {{ opacity: 1 }}
@media (prefers-reduced-motion: no-preference) {{
.frame {{ animation-duration: {total:g}s; animation-iteration-count: infinite; animation-timing-function: step-end }}
{chr(10).join(rules)}
}}
</style>
<rect x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="9" fill="{PAPER}" stroke="{FRAME}"/>
{dots}
{chr(10).join(frames)}
</svg>
"""


def _rule(number: int, begin: float, end: float) -> str:
    steps = [] if begin == 0 else ["0% { opacity: 0 }"]
    steps.append(f"{begin:.3f}% {{ opacity: 1 }}")
    if end < 99.999:
        steps.append(f"{end:.3f}% {{ opacity: 0 }}")
    steps.append(f"100% {{ opacity: {int(end >= 99.999)} }}")
    return f"@keyframes k{number} {{ {' '.join(steps)} }} .f{number} {{ animation-name: k{number} }}"


def _texts(shot: Shot, rows: int) -> Iterator[str]:
    """A piece for each stretch of one style, as wide as its cells whatever the font is."""
    for row, line in enumerate(shot.lines[:rows]):
        column = 0
        for (colour, bold), group in groupby(line, key=lambda cell: cell[1:]):
            text = "".join(cell[0] for cell in group)
            shown = text.strip(" ")
            if shown:
                x = MARGIN + (column + len(text) - len(text.lstrip(" "))) * CELL_WIDTH
                y = BAR + (row + 0.75) * CELL_HEIGHT
                style = f'fill="{colour}"' + (' class="bold"' if bold else "")
                fitted = f'textLength="{len(shown) * CELL_WIDTH:.1f}" lengthAdjust="spacingAndGlyphs"'
                yield f'<text x="{x:.1f}" y="{y:.1f}" {style} {fitted}>{escape(shown)}</text>'
            column += len(text)


def main(target: str) -> None:
    library = Path(os.__file__).parent
    PLACE.mkdir()
    try:
        for package in PACKAGES:
            ignored = shutil.ignore_patterns("__pycache__", "test*")
            shutil.copytree(library / package, PLACE / FOLDER / package, ignore=ignored)
        shots = record(PLACE)
    finally:
        shutil.rmtree(PLACE)
    Path(target).write_text(draw(shots), encoding="utf-8")
    print(f"{target}: {len(shots)} screens, {Path(target).stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main(sys.argv[1])
