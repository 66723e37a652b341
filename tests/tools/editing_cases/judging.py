"""What became of a case, judged by the bytes that are left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.tools.editing_cases.model import Case

RIGHT = ("applied", "refused")


def judge(case: Case, before: Mapping[str, bytes], left: Mapping[str, bytes]) -> str:
    """`applied`, `refused`, `missed`, `collateral` (the right change, but other lines too were
    written anew) or `wrong`.
    """
    if left == before:
        return "refused" if case.after is None else "missed"
    if case.after is None:
        return "wrong"
    wanted = {**before, **case.after}
    wanted = {path: data for path, data in wanted.items() if data is not None}
    if left == wanted:
        return "applied"
    same = left.keys() == wanted.keys()
    return "collateral" if same and all(_alike(left[one], wanted[one]) for one in left) else "wrong"


def _alike(one: bytes, two: bytes) -> bool:
    return _plain(one) == _plain(two)


def _plain(data: bytes) -> list[str]:
    text = data.decode("utf-8", "replace").translate(_FOLDED)
    return ["".join(line.split()) for line in text.splitlines() if line.strip()]


_FOLDED = str.maketrans(
    {
        "\u201c": '"',
        "\u201d": '"',
        "\u2019": "'",
        "\u2013": "-",
        "\u2014": "-",
        "\u00a0": " ",
        "\u200b": "",
        "\ufeff": "",
    }
)


def put(root: Path, files: Mapping[str, bytes]) -> None:
    """Exactly these files."""
    for path in [one for one in root.rglob("*") if one.is_file()]:
        path.unlink()
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)


def left_in(root: Path) -> dict[str, bytes]:
    """All files as they are."""
    found = [one for one in sorted(root.rglob("*")) if one.is_file()]
    return {one.relative_to(root).as_posix(): one.read_bytes() for one in found}


def table(verdicts: Iterable[tuple[str, str]]) -> str:
    """Verdicts by group, as lines."""
    groups: dict[str, Counter[str]] = {}
    for group, verdict in verdicts:
        groups.setdefault(group, Counter())[verdict] += 1
    names = ("applied", "refused", "missed", "collateral", "wrong")
    rows = [f"{'':40}" + "".join([f"{name:>11}" for name in names])]
    for group, counts in [*groups.items(), ("all", sum(groups.values(), Counter()))]:
        rows.append(f"{group:40}" + "".join([f"{counts[name]:11}" for name in names]))
    return "\n".join(rows)
