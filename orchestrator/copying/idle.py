"""Whether anybody works on a graph. What is copied or mended must hold still."""

from graph_stores.errors import TransientStoreError
from graph_stores.protocol import Store
from orchestrator.workers import read_workers


class JobRuns(TransientStoreError):
    code = "job_runs"


async def check_idle(store: Store) -> None:
    """Refuse while a job runs. An embedded graph that is ours is nobody else's."""
    if not store.capabilities.many_processes:
        return
    at_work = [each.known.name for each in await read_workers(store) if not each.is_gone]
    if at_work:
        raise JobRuns(
            f"{', '.join(sorted(at_work))} is at work on project {store.project} in {store.url}",
            hint="stop it or let it come to its end, and run the same command again",
        )
