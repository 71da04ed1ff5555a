"""A dump served over HTTP by a process of its own: `python -m tests.bench.wiki_server DUMP`.

Says its address in the first line, and in a line for each that it reads what was asked of it so far, until there are
no more to read.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipelines.wikipedia.local_api import serve
from pipelines.wikipedia.local_wiki import LocalWiki


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    requests: int
    """Without those for a further part of an answer."""
    texts: int
    pages: int

    @property
    def again(self) -> int:
        """How many texts were handed out a second time."""
        return self.texts - self.pages


class Server:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.url = self._line()

    def asked(self) -> Asked:
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return Asked(**json.loads(self._line()))

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()


@contextmanager
def serving(dump: Path) -> Iterator[Server]:
    command = [sys.executable, "-m", "tests.bench.wiki_server", str(dump)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Server(process)  # leaving closes its input, which ends it


async def _answer(dump: Path) -> None:
    wiki = LocalWiki.from_dump(dump)
    async with serve(wiki) as url:
        print(url, flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            texts = wiki.texts
            asked = {"requests": wiki.requests - wiki.continued, "texts": texts.total(), "pages": len(texts)}
            print(json.dumps(asked), flush=True)


if __name__ == "__main__":
    asyncio.run(_answer(Path(sys.argv[1])))
