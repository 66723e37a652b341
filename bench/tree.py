"""A made-up source tree, the same every time: names, sizes and ages of an ordinary project."""

from __future__ import annotations

import os
import random
from pathlib import Path

NEEDLE = "quartz_lantern_7"
HITS = 40
_WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "return",
    "import",
    "class",
    "value",
    "index",
    "buffer",
    "result",
    "error",
]
_KINDS = (".py", ".js", ".md", ".json")
_PER_FOLDER = 50


def grow(root: Path, files: int) -> None:
    """Write `files` files of about 3 kB beneath `root`; 40 of them hold the needle once."""
    dice = random.Random(20)
    bodies = [_body(dice) for _ in range(64)]
    marked = set(dice.sample(range(files), HITS))
    for number in range(files):
        folder = root / f"area{number // 2500:02}" / f"part{number // _PER_FOLDER:04}"
        if number % _PER_FOLDER == 0:
            folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"item{number:06}{_KINDS[number % len(_KINDS)]}"
        text = bodies[number % len(bodies)]
        path.write_text(f"{text}\n# {NEEDLE}\n" if number in marked else text)
        moment = 1_700_000_000 + (number * 7919) % 1_000_000
        os.utime(path, (moment, moment))


def _body(dice: random.Random) -> str:
    lines = [" ".join(dice.choices(_WORDS, k=9)) for _ in range(dice.randint(20, 80))]
    return "\n".join(lines) + "\n"
