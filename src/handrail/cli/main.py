"""Entry point of the command line. `--version` is answered before anything else is imported."""

import sys
from collections.abc import Sequence


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code (see `exit_codes`)."""
    words = sys.argv[1:] if words is None else words
    if list(words) in (["--version"], ["-V"]):
        from handrail import __version__

        print(f"handrail {__version__}")
        return 0
    from handrail.cli.runner import run_command_line

    return run_command_line(words)
