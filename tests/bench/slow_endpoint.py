"""An embedding endpoint that only waits, as one far away does: `python -m tests.bench.slow_endpoint SECONDS`.

A process of its own: says its address in the first line and ends with its input. Its vectors say nothing, and cost
next to nothing.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

DIMENSION = 256
_VECTOR = [0.0625] * DIMENSION


@contextmanager
def waiting(seconds: float) -> Iterator[str]:
    """The address of an endpoint that takes that long for every answer."""
    command = [sys.executable, "-m", "tests.bench.slow_endpoint", str(seconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process.stdout.readline().strip()


def _application(seconds: float) -> web.Application:
    async def embeddings(request: web.Request) -> web.Response:
        texts = (await request.json())["input"]
        await asyncio.sleep(seconds)
        data = ",".join(f'{{"index":{index},"embedding":{_NUMBERS}}}' for index in range(len(texts)))
        return web.Response(body=f'{{"data":[{data}]}}', content_type="application/json")

    application = web.Application(client_max_size=64 * 1024**2)
    application.router.add_post("/v1/embeddings", embeddings)
    return application


_NUMBERS = json.dumps(_VECTOR)


async def _serve(seconds: float) -> None:
    runner = web.AppRunner(_application(seconds), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
        await asyncio.to_thread(sys.stdin.read)
    finally:
        await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1])))
