"""A real project of source code, the standard library of this Python: `python -m tests.bench.code [FOLDER]`."""

import asyncio
import os
import shutil
import sys
import sysconfig
import tempfile
import threading
from pathlib import Path

import psutil

from graph_stores import open_store
from orchestrator.files.roots import Source
from orchestrator.job import Job, Plan, Report
from pipelines.embedding import EmbedderChoice
from tests.bench.table import Row, show

FILES = 1000
_LOOK = 0.05


class Memory(threading.Thread):
    """The most that this process and its children had resident at once, in MB."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0.0
        self._over = threading.Event()

    def run(self) -> None:
        own = psutil.Process()
        while not self._over.wait(_LOOK):
            sizes = []
            for process in (own, *own.children(recursive=True)):
                try:
                    sizes.append(process.memory_info().rss)
                except psutil.NoSuchProcess:
                    continue
            self.most = max(self.most, sum(sizes) / 1e6)

    def stop(self) -> float:
        self._over.set()
        self.join()
        return self.most


def copy_library(target: Path) -> None:
    library = Path(sysconfig.get_paths()["stdlib"])
    files = [path for path in sorted(library.rglob("*.py")) if "site-packages" not in path.parts][:FILES]
    for path in files:
        place = target / path.relative_to(library)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)


async def ingest(folder: Path, place: Path) -> Report:
    store = await open_store(f"kuzu:{place / 'graph'}", project="bench", create=True)
    await store.migrate()
    plan = Plan(sources=[Source(path=folder)], workers=os.cpu_count() or 1, embedder=EmbedderChoice(name="none"))
    report = await Job(store, plan).run()
    await store.close()
    return report


def main(given: str | None = None) -> None:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as place:
        if given is None:
            copy_library(Path(folder))
        memory = Memory()
        memory.start()
        report = asyncio.run(ingest(Path(given or folder), Path(place)))
        most = memory.stop()
    what = f"{report.tally.parsed:,} source files → {report.standing.total:,} nodes, parsed and linked"
    show(
        "Code",
        [
            Row(what=what, ours=report.seconds, reference=10, reference_name="what is wanted", reach=1),
            Row(what="memory", ours=most, reference=600, reference_name="what is wanted", reach=1, unit="MB"),
        ],
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
