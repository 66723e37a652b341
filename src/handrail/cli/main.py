"""Entry point of the command line. `--version` is answered before anything else is imported."""

import gc
import sys
from collections.abc import Sequence

# Objects that a command allocates at start stay alive: collecting garbage among them takes a
# twentieth of the CPU time of a short command. A server restores the thresholds.
_ALLOCATIONS_BEFORE_GC = 100_000


def main(words: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (see `exit_codes`)."""
    if words is None:
        return _run_program(sys.argv[1:])
    if list(words) in (["--version"], ["-V"]):
        from handrail import __version__

        print(f"handrail {__version__}")
        return 0
    from handrail.cli.runner import run_command_line

    return run_command_line(words)


def _run_program(words: Sequence[str]) -> int:
    gc.set_threshold(_ALLOCATIONS_BEFORE_GC)
    try:
        return main(words)
    finally:
        # The process ends: another collection would take a fifth of the CPU time.
        gc.freeze()
