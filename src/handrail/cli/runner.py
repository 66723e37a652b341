"""How a command ends: the one `try` around all of them, the exit codes, and what is told.

A `Problem` never shows a traceback, and neither does a bug unless HANDRAIL_DEBUG is set.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import Final

from handrail.cli.render import output
from handrail.core.problems import Problem, ProblemRaised

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
ABORTED: Final = 130


def run_command_line(words: Sequence[str]) -> int:
    """Carry out one command line."""
    output.prepare_streams()
    options = Namespace(json=False)
    try:
        code = _parse_and_run(words, options)
        sys.stdout.flush()
    except ProblemRaised as raised:
        output.print_problem(raised.problem, as_json=options.json)
        return USAGE if raised.problem.code == "invalid_arguments" else FAILED
    except KeyboardInterrupt:
        # On a line of its own: the terminal has echoed ^C, or a question stands there.
        output.warn("\ninterrupted" if sys.stderr.isatty() else "interrupted")
        return ABORTED
    except BrokenPipeError:
        # Whoever read us has seen enough (`handrail log | head`).
        _discard_output()
        return DONE
    except OSError as error:
        # The machine said no: a full disk, a terminal that went away.
        # First of all let go of output that cannot be written: a warning flushes it once more.
        _discard_output()
        output.warn_titled("unavailable", error)
        return FAILED
    except Exception as error:  # noqa: BLE001 - the last stop before the person
        return _report_bug(error)
    return code


def _parse_and_run(words: Sequence[str], options: Namespace) -> int:
    from handrail.cli.parser import UsageError, parse

    try:
        parse(words, options)
    except UsageError as wrong:
        if options.json or "--json" in words:
            problem = Problem("invalid_arguments", str(wrong), wrong.hint)
            output.print_problem(problem, as_json=True)
        else:
            output.warn(f"handrail: {wrong}\nhint: {wrong.hint}")
        return USAGE
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else USAGE
    code: int = options.run(options)
    return code


def _discard_output() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    finally:
        os.close(nowhere)


def _report_bug(error: Exception) -> int:
    output.warn_titled(f"internal: {type(error).__name__}", error)
    output.warn("this is a bug in handrail; please report it with the line above")
    if output.is_debug():
        import traceback

        traceback.print_exception(error)
    else:
        output.warn("HANDRAIL_DEBUG=1 shows where it happened")
    return FAILED
