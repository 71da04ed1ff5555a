"""A folder of Markdown pages with a fixed seed: the same files on every machine, and nothing from outside."""

from pathlib import Path
from random import Random

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def write_pages(root: Path, count: int, *, sections: int = 4, words: int = 80, seed: int = 7) -> list[Path]:
    """Pages in twenty folders, each with some sections and a link to another page in each of them."""
    random = Random(seed)
    vocabulary = ["".join(random.choices(_LETTERS, k=random.randint(3, 9))) for _ in range(3000)]
    pages = [root / f"chapter-{index % 20}" / f"page-{index}.md" for index in range(count)]
    for page in pages:
        page.parent.mkdir(parents=True, exist_ok=True)
        texts = []
        for section in range(sections):
            target = random.choice(pages)
            title = " ".join(random.sample(vocabulary, 3))
            body = " ".join(random.choices(vocabulary, k=words))
            link = f"../{target.parent.name}/{target.name}"
            texts.append(f"{'#' * min(section + 1, 3)} {title}\n\n{body}\n\nSee [{title}]({link}).\n")
        page.write_text("\n".join(texts), encoding="utf-8")
    return pages
