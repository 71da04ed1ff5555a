"""What the processes of the pool's tests are made to do."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipelines.pool_process import LENGTH


class Plain(Exception):
    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Fragile(Exception):
    """Can be pickled, and not made again."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} and {two}")


class OnlyThere:
    """Can be pickled, and read only where it was made."""

    def __init__(self) -> None:
        self.maker = os.getpid()

    def __setstate__(self, state: dict[str, int]) -> None:
        if state["maker"] != os.getpid():
            raise ValueError("made elsewhere")


def obey(order: tuple[str, Any]) -> Any:
    name, argument = order
    return ORDERS[name](argument)


def fail(message: str) -> None:
    raise Plain(message, hint="try it differently")


def fail_fragile(_: object) -> None:
    raise Fragile("this", "that")


def die_by(number: int) -> None:
    os.kill(os.getpid(), number)


def interrupt_itself(_: object) -> str:
    os.kill(os.getpid(), signal.SIGINT)
    return "still here"


def talk(text: str) -> str:
    os.write(1, text.encode())
    print(text, flush=True)
    return text + sys.stdin.read()


def hold(place: str) -> int:
    """Opens a named pipe and keeps it open: whoever reads it sees its end when this process is gone."""
    os.write(os.open(place, os.O_WRONLY), LENGTH.pack(os.getpid()))
    return os.getpid()


def hold_for_ever(place: str) -> None:
    hold(place)
    while True:
        signal.pause()


ORDERS: dict[str, Callable[[Any], Any]] = {
    "double": lambda number: number * 2,
    "who": lambda _: os.getpid(),
    "group": lambda _: os.getpgid(0),
    "modules": lambda _: sorted(sys.modules),
    "make bytes": lambda size: b"x" * size,
    "count bytes": len,
    "fail": fail,
    "fail fragile": fail_fragile,
    "give a function": lambda _: lambda: None,
    "give what cannot be read": lambda _: OnlyThere(),
    "leave": os._exit,
    "leave politely": sys.exit,
    "die": die_by,
    "interrupt itself": interrupt_itself,
    "talk": talk,
    "hold": hold,
    "hold for ever": hold_for_ever,
}


async def own_a_pool(idle: str, busy: str) -> None:
    """One process that has nothing to do any more, and one that never ends."""
    import asyncio

    from pipelines.pool import Pool

    pool: Pool[tuple[str, Any], Any] = Pool(obey, processes=2, seconds=600)
    await pool.start()
    await asyncio.gather(pool.run(("hold for ever", busy)), pool.run(("hold", idle)))


def program(root: Path, log: Path, idle: Path, busy: Path) -> str:
    """The text of a command like the one that is installed: it does its work as the main module."""
    return f"""
import asyncio, sys
sys.path.insert(0, {str(root)!r})
with open({str(log)!r}, "a") as log:
    log.write("begun\\n")
from tests.unit.pool_work import own_a_pool
asyncio.run(own_a_pool({str(idle)!r}, {str(busy)!r}))
"""
