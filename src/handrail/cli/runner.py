"""Runs a command line and turns its outcome into an exit code and a message.

A traceback is printed only for internal errors, and only if HANDRAIL_DEBUG is set.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence

from handrail.cli.exit_codes import ExitCode, problem_exit_code
from handrail.cli.render import output
from handrail.core.problems import Problem, ProblemRaised


def run_command_line(words: Sequence[str]) -> int:
    """Run one command line; return its exit code."""
    output.prepare_streams()
    options = Namespace(json=False)
    try:
        code = _parse_and_run(words, options)
        sys.stdout.flush()
    except ProblemRaised as raised:
        output.print_problem(raised.problem, as_json=options.json)
        return problem_exit_code(raised.problem)
    except KeyboardInterrupt:
        # On its own line: the terminal may show ^C or a question.
        output.warn("\ninterrupted" if sys.stderr.isatty() else "interrupted")
        return ExitCode.ABORTED
    except BrokenPipeError:
        # The reader has closed the pipe (`handrail log | head`).
        _discard_output()
        return ExitCode.DONE
    except OSError as error:
        # For example a full disk or a closed terminal. Buffered output is discarded first,
        # because printing the warning would flush it and fail again.
        _discard_output()
        output.warn_titled("unavailable", error)
        return ExitCode.FAILED
    except Exception as error:  # noqa: BLE001 - the outermost handler
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
            output.warn_titled("handrail", wrong)
            output.warn_titled("hint", wrong.hint)
        return ExitCode.USAGE
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else ExitCode.USAGE
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
    output.warn("this is a bug in Handrail; please report it with the line above")
    if output.is_debug():
        import traceback

        traceback.print_exception(error)
    else:
        output.warn("set HANDRAIL_DEBUG=1 to print the traceback")
    return ExitCode.FAILED
