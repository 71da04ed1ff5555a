"""A folder of notes and source code, the same for the same seed: small texts that refer to each other."""

from pathlib import Path
from random import Random

_WORDS = ("river", "stone", "mill", "wheel", "grain", "flour", "water", "sluice", "barn", "harvest", "bread", "oven")
SHARED = "The same words stand under this heading on many pages, and are embedded once.\n"


def write_corpus(folder: Path, *, pages: int = 80, modules: int = 40, seed: int = 7) -> None:
    """Markdown pages that link to each other, whole and to sections, and Python modules that import each other."""
    random = Random(seed)
    for number in range(pages):
        place = folder / f"notes/{number % 7}/page_{number:04}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_page(number, pages, random), encoding="utf-8")
    for number in range(modules):
        place = folder / f"source/module_{number:04}.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_module(number, modules, random), encoding="utf-8")


def _page(number: int, pages: int, random: Random) -> str:
    other = random.randrange(pages)
    lines = [f"# Page {number}", _sentence(random), f"See [another](../{other % 7}/page_{other:04}.md#part-1)."]
    for part in range(1, random.randint(2, 4)):
        lines += [f"## Part {part}", _sentence(random), f"Counted {number}.{part}, [broken](nowhere-{number}.md)."]
    if number % 5 == 0:
        lines += ["## Licence", SHARED]
    return "\n\n".join(lines) + "\n"


def _module(number: int, modules: int, random: Random) -> str:
    other = random.randrange(modules)
    return f'''"""{_sentence(random)}"""

from source.module_{other:04} import turn_{other}


def turn_{number}(grain: int) -> int:
    """{_sentence(random)}"""
    return grain + {number}


class Mill{number}:
    """{_sentence(random)}"""

    def grind(self, grain: int) -> int:
        return turn_{other}(turn_{number}(grain))
'''


def _sentence(random: Random) -> str:
    return " ".join(random.choice(_WORDS) for _ in range(random.randint(6, 14))) + f" {random.randrange(10**6)}."
