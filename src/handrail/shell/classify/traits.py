"""What a program does by its nature, whatever its arguments are: the traits of its entry."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.core.commands import CommandClass
from handrail.shell.analyze.invocation import Invocation
from handrail.shell.classify import hosts, messages
from handrail.shell.classify.arguments import Argument
from handrail.shell.classify.program_use import has_unseen_arguments, reads_files
from handrail.shell.classify.roles import ArgumentContext
from handrail.shell.tables.program_table import ProgramSpec


def apply_traits(
    program: ProgramSpec,
    given: Sequence[Argument],
    one: Invocation,
    context: ArgumentContext,
) -> None:
    """Add the reasons and effects that a program has whatever its arguments are."""
    traits = program.traits
    if "open" in traits:
        context.collector.open_ended = True
    if "git" in traits:
        context.collector.git = True
    _apply_dangerous_traits(program, given, context)
    if not traits.isdisjoint(("net", "fetches")):
        context.collector.network = True
    if "net" in traits:
        hosts.collect_hosts(given, context.collector)
    if "host" in traits:
        hosts.collect_first_host(given, context.collector)
    if (
        one.extra_arguments
        and context.found_by_search
        and context.seeks_secrets
        and reads_files(program)
    ):
        context.danger(messages.SEARCHES_SECRETS)
    only_text = all(slot.role == "text" for slot in program.grammar.slots)
    by_search = context.found_by_search and not has_unseen_arguments(one)
    harmless = "any" in traits and (context.found_by_search or only_text)
    if one.extra_arguments and not by_search and not harmless:
        least = CommandClass.DEV if context.found_by_search else CommandClass.DANGEROUS
        context.note(least, messages.UNSEEN_ARGUMENTS.format(program=program.name))


def _apply_dangerous_traits(
    program: ProgramSpec, given: Sequence[Argument], context: ArgumentContext
) -> None:
    if "processes" in program.traits and not context.where.hides_processes():
        context.danger(messages.SHOWS_PROCESSES.format(program=program.name))
    if "endless" in program.traits:
        context.danger(messages.ENDLESS_PROGRAM.format(program=program.name))
    # `declare -x` prints as much as `declare`; for `set` flags are arguments.
    has_flags = program.grammar.style != "none"
    if "bare" in program.traits and all(has_flags and _is_option(one) for one in given):
        context.danger(program.why or f"{program.name} alone")


def _is_option(argument: Argument) -> bool:
    return argument.text is not None and argument.text.startswith("-") and argument.text != "-"
