"""Break the package in small ways, one at a time, and see whether the nearest tests notice.

    make mutate SEED=1

records which test runs which code (about as long as all tests take), then tries 200 mutations:

    PYTHONPATH=scripts python -m pytest -n 2 -p mutation_map
    python scripts/mutate.py --seed 1 --count 200

The mutations are drawn by a seed that is printed, so that a run can be repeated. Each is written
into the sources of this tree, which should be a clone made for this, and tried against the
nearest tests: those that enter the mutated block by the map, from the nearest files first; then
those nearest by the name, folder and imports of their file and by the words that they share with
the mutated function. A mutation is caught if a test fails that passes
without it, survives if all pass, and hangs if they do not end in time.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from mutant_runner import Attempt, MutantRunner
from mutation_map import CodeMap
from mutations import ROOT, Mutation, draw_mutations
from nearest_tests import NearestTests

# What checks the repository itself, or runs examples, is near to no module.
FAR = ("house", "examples")


class Campaign:
    """The plugin of pytest: tries the mutations instead of running the collected tests."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._attempts: list[tuple[Mutation, Attempt]] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Print a line for each mutation; True, as nothing else is to be run."""
        options = self._options
        nearest, runner = NearestTests(ROOT, CodeMap(), FAR), MutantRunner(session)
        heading = f"seed {options.seed}, {options.count} mutations, {nearest.known} tests known"
        print(f"{heading}, {len(session.items)} collected", file=sys.stderr, flush=True)
        end = time.monotonic() + 60 * options.minutes
        for mutation in draw_mutations(random.Random(options.seed), options.count, options.only):
            if time.monotonic() > end:
                break
            chosen = nearest.select(mutation.path, mutation.line, options.seconds)
            attempt = runner.try_mutation(mutation, *chosen, options.seconds)
            self._attempts.append((mutation, attempt))
            _print(mutation, attempt)
        return True

    def report(self) -> bool:
        """Print the rate; whether it is as required."""
        outcomes = Counter(attempt.outcome for _, attempt in self._attempts)
        rate = 100 * outcomes["caught"] / max(len(self._attempts), 1)
        print(f"seed {self._options.seed}: {len(self._attempts)} tried, ", end="", file=sys.stderr)
        print(f"{dict(outcomes)}, caught {rate:.1f} %", file=sys.stderr)
        return rate >= self._options.require and not outcomes["hangs"]


def main() -> int:
    """Run the mutations and print a line for each, then the rate; 1 below the required rate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="of processor time for one mutation"
    )
    parser.add_argument("--require", type=float, default=85.0, help="per cent to be caught")
    parser.add_argument("--only", default="", help="mutate files whose path contains this")
    parser.add_argument("--minutes", type=float, default=1e9, help="try no more after that time")
    options = parser.parse_args()
    if _git("status", "--porcelain", "src"):
        parser.error("the sources have changes: run this in a clean clone")
    # Ends the run in order, so that the mutated file is restored.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    campaign = Campaign(options)
    arguments = ["-q", "-p", "no:cacheprovider", "--timeout=30"]
    ignored = [f"--ignore=tests/{folder}" for folder in FAR]
    pytest.main([*arguments, *ignored, "--rootdir", str(ROOT), str(ROOT / "tests")], [campaign])
    return 0 if campaign.report() else 1


def _print(mutation: Mutation, attempt: Attempt) -> None:
    killer = f"  [{attempt.killer}]" if attempt.killer else ""
    line = f"{attempt.outcome:8} {mutation.path}:{mutation.line} {mutation.what}{killer}"
    print(line, file=sys.stderr, flush=True)


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
