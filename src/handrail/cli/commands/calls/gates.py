"""`handrail gates`: run the quality gates of the workspace and say what failed."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handrail.policy.guardrails.gates import GateResult


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(subparsers, "gates", "run the quality gates; 1 if a required one fails")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Run them as the person, and say what a model would be told."""
    import asyncio

    from handrail.cli.workspace import open_session
    from handrail.policy.guardrails.gates import gate_feedback

    async def gates() -> Sequence[GateResult]:
        async with open_session(options) as runtime:
            return await runtime.run_quality_gates()

    results = asyncio.run(gates())
    if options.json:
        for one in results:
            output.print_json(one._asdict())
    else:
        _print_results(results)
    return 1 if gate_feedback(results) is not None else 0


def _print_results(results: Sequence[GateResult]) -> None:
    if not results:
        output.print_line("there are no quality gates; name them under guardrails.quality_gates")
    for one in results:
        word = "passed" if one.passed else "FAILED" if one.required else "failed, not required"
        output.print_line(f"{one.name}: {word}")
        if not one.passed:
            output.print_line(one.feedback)
