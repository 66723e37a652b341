"""`python -m bench`: run every measure, print one table, end."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
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
    tokens,
)
from bench.figure import Figure, Scale, table

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
}
SCALES = {
    "quick": Scale(files=5_000, rounds=5, calls=1_000, deep_mb=20, big_edit_mb=10),
    "default": Scale(files=30_000, rounds=9, calls=3_000, deep_mb=100, big_edit_mb=50),
    "full": Scale(files=100_000, rounds=15, calls=6_000, deep_mb=100, big_edit_mb=50),
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
    # Compiled files are what a user has; without them imports are timed wrongly.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Peers look for `rg` on the path; they get the same one.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="handrail-bench-") as folder:
        os.environ["XDG_STATE_HOME"] = os.path.join(folder, "state")
        os.environ["XDG_CONFIG_HOME"] = os.path.join(folder, "config")
        for letter in options.only:
            place = Path(folder, letter)
            place.mkdir()
            figures += asyncio.run(MEASURES[letter].measure(place, scale))
        counts = asyncio.run(tokens.count(Path(folder, "tokens")))
    if options.json:
        print(json.dumps({"figures": [f.to_dict() for f in figures], "tokens": counts}, indent=2))
    else:
        print(table(figures))
        print(tokens.table(counts))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
