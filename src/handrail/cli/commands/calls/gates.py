"""`handrail gates`: run the quality gates of the workspace."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from handrail.cli import messages
from handrail.cli.exit_codes import ExitCode
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handrail.policy.guardrails.gates import GateResult


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "gates")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Run the gates and print their feedback; return 1 if one failed. Raises `invalid_arguments`."""
    import asyncio

    from handrail.cli.workspace import open_session
    from handrail.policy.guardrails.gates import gate_feedback

    async def gates() -> Sequence[GateResult]:
        async with open_session(options) as runtime:
            return await runtime.run_quality_gates()

    results = asyncio.run(gates())
    if not results:
        raise messages.NO_GATES.error()
    if options.json:
        for result in results:
            output.print_json(result._asdict())
    else:
        _print_results(results)
    return ExitCode.DONE if gate_feedback(results) is None else ExitCode.FAILED


def _print_results(results: Sequence[GateResult]) -> None:
    for result in results:
        word = (
            "passed" if result.passed else "FAILED" if result.required else "failed, not required"
        )
        output.print_text(f"{result.name}: {word}")
        if not result.passed:
            output.print_text(result.feedback)
