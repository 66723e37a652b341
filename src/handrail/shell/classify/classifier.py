"""The safety class of a command: the worst of everything that it runs, reads and sets.

A command is safe only if every word is known to be harmless.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from handrail.core.commands import CommandClass, ExecutionContext
from handrail.shell.analyze.invocation import FlatCommand, Invocation
from handrail.shell.analyze.variables import bind_arguments, harmless_texts
from handrail.shell.classify import (
    effects,
    environment,
    listing,
    messages,
    program_use,
    redirects,
    roles,
)
from handrail.shell.classify.argument_context import ArgumentContext
from handrail.shell.classify.arguments import Argument, argument_readings
from handrail.shell.classify.effects import EffectCollector
from handrail.shell.classify.options import ParsedCommandLine, parse_arguments, split_subcommand
from handrail.shell.classify.program_use import (
    WRITING_ROLES,
    add_option_dashes,
    apply_traits,
    changed_directory,
    classify_arguments,
    classify_denied,
    classify_shell,
    classify_wrapper,
    default_role,
    find_use,
    has_unseen_arguments,
    only_prints_help,
    reads_files,
    secret_search,
    sets_own_variables,
    uses_current_directory,
)
from handrail.shell.expand import Expander
from handrail.shell.tables.program_table import OperandSlot, ProgramSpec, ProgramTable

_SHELLS: Final = frozenset({"bash", "sh", "dash", "zsh", "ksh", "ash", "fish"})
_AWKS: Final = frozenset({"awk", "gawk", "mawk", "nawk"})
# They run programs besides what they do themselves.
_SEARCHING_WRAPPERS: Final = listing.FINDERS | _AWKS
_DEEPEST: Final = 8
_HERE: Final = Argument(".", ".")
_SCRIPT: Final = OperandSlot("script")


class Classifier:
    """Classifies flattened commands in one execution context."""

    def __init__(
        self,
        programs: ProgramTable,
        where: ExecutionContext,
        *,
        protected: Callable[[str], str | None] | None = None,
        git_is_safe: Callable[[str], bool] | None = None,
    ) -> None:
        self._programs = programs
        self._where = where
        self._protected = protected
        self._git_is_safe = git_is_safe
        self._seeks_secrets: Callable[[str], bool] = bool
        self._flat = FlatCommand(())
        self._texts: frozenset[str] = frozenset()

    def classify(
        self, flat: FlatCommand, expander: Expander, collector: EffectCollector
    ) -> list[CommandClass]:
        """Add reasons and effects to the collector. Returns the class of each invocation."""
        for doubt in flat.doubts:
            collector.add_reason(CommandClass.DANGEROUS, doubt.text, doubt.part)
        if flat.may_loop_forever:
            collector.add_reason(CommandClass.DEV, messages.ENDLESS_LOOP, "")
        collector.take_part_class()
        collector.changes_directory = flat.changes_directory
        self._seeks_secrets = secret_search(flat)
        self._flat = flat
        self._texts = harmless_texts(flat)
        classes = []
        for one in flat.invocations:
            self._classify_invocation(one, flat, expander, collector)
            classes.append(collector.take_part_class())
        return classes

    def _classify_invocation(
        self, one: Invocation, flat: FlatCommand, expander: Expander, collector: EffectCollector
    ) -> None:
        cwd = self._cwd(one)
        expander = self._own_expander(one, flat, expander)
        context = ArgumentContext(
            self._where,
            cwd,
            collector,
            one.source,
            protected=self._protected,
            harmless_texts=self._texts,
            functions=flat.functions,
            seeks_secrets=self._seeks_secrets(one.program or ""),
            has_found_argument=listing.has_found_argument(one),
        )
        if one.background:
            collector.background = True
            context.note(CommandClass.DEV, messages.RUNS_IN_BACKGROUND)
        redirects.classify_redirects(() if one.remote else one.redirects, expander, context)
        self._assignments(one, context)
        if not one.words:
            return
        if one.remote:
            context.danger(messages.RUNS_REMOTELY)
            return
        name = one.program
        if name is None or one.words[0].globs:
            context.danger(messages.COMPUTED_PROGRAM.format(word=one.words[0].source))
            collector.open_ended = True
        elif name not in flat.functions:
            self._program(name, one, expander, context)
        else:
            if one.function == name:
                context.danger(messages.RECURSIVE_FUNCTION.format(name=name))
            # The body may print them.
            for given in argument_readings(one.words[1:], expander, context.cwd):
                for argument in given:
                    roles.classify_text(argument, context)

    def _own_expander(self, one: Invocation, flat: FlatCommand, expander: Expander) -> Expander:
        # Another shell sees none of the variables that this one has set.
        if (_SHELLS | _AWKS).intersection(one.wrapped_by) and not flat.is_one_shell:
            expander = Expander({}, self._where.home)
        if one.arguments is None:
            return expander
        bindings = {**expander.bindings, **bind_arguments(one, flat)}
        return Expander(bindings, self._where.home, invocations=len(flat.invocations))

    def _cwd(self, one: Invocation) -> str | None:
        if one.cwd is None:
            return None
        return posixpath.join(self._where.cwd, one.cwd) if one.cwd else self._where.cwd

    @staticmethod
    def _assignments(one: Invocation, context: ArgumentContext) -> None:
        for assignment in one.assignments:
            safety_class = environment.classify_variable(assignment.name)
            if assignment.name == "IFS" and one.program == "read":
                # Only `read` splits by it.
                continue
            # Without a command it is the shell's own variable: nobody else sees a new name.
            if not sets_own_variables(one) or safety_class is CommandClass.DANGEROUS:
                context.note(safety_class, messages.SETS_VARIABLE.format(name=assignment.name))

    def _program(
        self, name: str, one: Invocation, expander: Expander, context: ArgumentContext
    ) -> None:
        context.collector.add_program(name)
        found = program_use.identify_program(name, one.words[0], context, self._programs)
        for given in argument_readings(one.words[1:], expander, context.cwd, one.bound):
            if found is None:
                effects.collect_hosts(given, context.collector, strict=True)
                self._classify_namesake(name, given, context)
            else:
                self._with_arguments(found, given, one, context)

    def _classify_namesake(
        self, name: str, given: Sequence[Argument], context: ArgumentContext
    ) -> None:
        """A file of the workspace with the name of a known program: `./gradlew publish`."""
        known = program_use.lookup_program(posixpath.basename(name), self._programs)
        if known is not None:
            classify_denied(known, given, context)

    def _with_arguments(
        self,
        found: ProgramSpec,
        given: Sequence[Argument],
        one: Invocation,
        context: ArgumentContext,
    ) -> None:
        added = self._adds_found_paths(one)
        fills_in = added or context.has_found_argument
        given = tuple(
            replace(word, found_by_search=True)
            if listing.is_found_path(word, self._programs.find, fills_in=fills_in)
            else word
            for word in given
        )
        context = replace(
            context,
            program=found.name,
            found_by_search=added,
            found_everything=fills_in and listing.finds_everything(one, self._flat),
            seeks_secrets=self._seeks_secrets(found.name),
            follows_text=one.is_wrapper,
        )
        if one.is_wrapper and found.name not in _SEARCHING_WRAPPERS:
            apply_traits(found, given, one, context)
            classify_wrapper(found, given, one, context)
            if found.name in _SHELLS:
                classify_shell(found, given, one, context)
        else:
            self._classify_program(found, given, one, context)

    def _adds_found_paths(self, one: Invocation) -> bool:
        """Whether the arguments that a wrapper adds are paths found by a search in the workspace."""
        if not one.extra_arguments:
            return False
        finds = not listing.FINDERS.isdisjoint(one.wrapped_by[-1:])
        return finds or listing.lists_workspace_paths(one.piped_from, self._programs.find)

    def _classify_program(
        self,
        program: ProgramSpec,
        given: Sequence[Argument],
        one: Invocation,
        context: ArgumentContext,
        depth: int = 0,
    ) -> None:
        if not has_unseen_arguments(one) and only_prints_help(program, given):
            return
        program = find_use(program, given, one)
        if program.subcommands:
            self._classify_subcommand(program, given, one, context, depth)
            return
        apply_traits(program, given, one, context)
        if program.safety_class is not CommandClass.SAFE:
            context.note(
                program.safety_class,
                program.why or messages.NOT_READ_ONLY.format(program=program.name),
            )
        classify_denied(program, given, context)
        if program.grammar.options is None:
            for argument in given:
                roles.classify_argument("any", argument, context)
            return
        parsed = parse_arguments(program.grammar, add_option_dashes(program, given))
        classify_denied(program, [Argument(name, name) for name in sorted(parsed.given)], context)
        self._classify_parsed(program, parsed, one, context)
        if parsed.command:
            self._classify_launched(program, parsed, one, context, depth)

    def _classify_subcommand(
        self,
        program: ProgramSpec,
        given: Sequence[Argument],
        one: Invocation,
        context: ArgumentContext,
        depth: int,
    ) -> None:
        first = (given[0].text if given else None) or ""
        if first.startswith("-") and first in program.subcommands:
            self._classify_program(program.subcommands[first], given[1:], one, context, depth)
            return
        parsed, rest = split_subcommand(program.grammar, given)
        for meant in parsed.values:
            roles.classify_argument(meant.role, meant.argument, context)
            if meant.role == "dir":
                context = replace(context, cwd=changed_directory(context.cwd, meant.argument))
        self._classify_unknown_options(program, parsed, one, context)
        if program.name == "git" and not self._git_safe_in(context.cwd):
            context.note(CommandClass.DEV, messages.GIT_CONFIG_RUNS_PROGRAMS)
        name = rest[0].text if rest else None
        inner = program.subcommands.get(name or "")
        if inner is not None:
            self._classify_program(
                inner, rest[1:], one, replace(context, program=inner.name), depth
            )
        elif rest:
            context.danger(
                messages.UNKNOWN_SUBCOMMAND.format(program=program.name, subcommand=rest[0].source)
            )
            context.collector.open_ended = True
        else:
            apply_traits(program, given, one, context)
            least = CommandClass.SAFE if "alone" in program.traits else CommandClass.DEV
            context.note(max(program.safety_class, least), program.why or f"{program.name} alone")

    def _git_safe_in(self, cwd: str | None) -> bool:
        return self._git_is_safe is None or (cwd is not None and self._git_is_safe(cwd))

    def _classify_parsed(
        self,
        program: ProgramSpec,
        parsed: ParsedCommandLine,
        one: Invocation,
        context: ArgumentContext,
    ) -> None:
        self._classify_unknown_options(program, parsed, one, context)
        if parsed.given & program.grammar.spreads:
            context.note(CommandClass.DEV, messages.WRITES_MANY_FILES.format(program=program.name))
            if not any(meant.role == "wtree" for meant in parsed.values):
                roles.classify_argument("swept", _HERE, context)
        for option in sorted(parsed.given & program.grammar.changes):
            context.note(
                CommandClass.DEV,
                messages.OPTION_CHANGES.format(program=program.name, option=option),
            )
            context.collector.git = context.collector.git or program.name.startswith("git ")
        context = replace(context, narrowed=listing.is_narrowed(one))
        sweeps = context.found_everything and one.extra_arguments
        for option in sorted(parsed.given):
            # Whether or not a file is named for it: `find -delete` starts here.
            if WRITING_ROLES.intersection(program.grammar.turns.get(option, {}).values()):
                context.note(
                    CommandClass.DANGEROUS if sweeps else CommandClass.DEV,
                    messages.OPTION_WRITES.format(program=program.name, option=option),
                )
        if sweeps and program.safety_class is not CommandClass.SAFE:
            context.danger(messages.WHOLE_WORKSPACE.format(argument=one.source))
        classify_arguments(program, parsed, context)
        if uses_current_directory(program, parsed) and not one.extra_arguments:
            roles.classify_argument(default_role(program, parsed), _HERE, context)
        grammar = program.grammar
        needs = grammar.slots[:1] == (_SCRIPT,) and not parsed.given & grammar.drops
        if needs and not parsed.operands and not parsed.command:
            # What is given as text (`-c`) was weighed with the other values.
            if not any(value.role == "code" for value in parsed.values):
                context.danger(messages.RUNS_STDIN.format(program=program.name))
            context.collector.open_ended = True

    def _classify_unknown_options(
        self,
        program: ProgramSpec,
        parsed: ParsedCommandLine,
        one: Invocation,
        context: ArgumentContext,
    ) -> None:
        if "any" not in program.traits:
            for argument in parsed.option_like_globs:
                why = f"{argument.source!r} may match a file whose name is an option"
                context.note(
                    CommandClass.DEV, f"{why} for {program.name}; write ./{argument.source}"
                )
            for argument in parsed.may_overflow:
                why = f"{argument.source!r} may become several arguments"
                context.note(CommandClass.DEV, f"{why}, of which {program.name} expects fewer")
        # What find found is a path, unless it is only the end of an option.
        options = [
            argument
            for argument in parsed.unknown_options
            if has_unseen_arguments(one)
            or not argument.is_placeholder
            or argument.prefix.startswith("-")
        ]
        for argument in (*options, *parsed.surplus_operands):
            computed = argument.text is None
            if computed and "any" in program.traits:
                roles.classify_text(argument, context)
                if not argument.found_by_search and reads_files(program):
                    # It may name a file: `grep -f`.
                    why = messages.UNKNOWN_ARGUMENT.format(argument=argument.source)
                    context.note(CommandClass.DEV, why)
                continue
            what = "may become any option" if computed else "is not known to be harmless"
            context.danger(f"{argument.source!r} {what} for {program.name}")
            context.collector.open_ended = True

    def _classify_launched(
        self,
        program: ProgramSpec,
        parsed: ParsedCommandLine,
        one: Invocation,
        context: ArgumentContext,
        depth: int,
    ) -> None:
        """Classify the command behind `uv run` or `python -m`."""
        first, rest = parsed.command[0], parsed.command[1:]
        context.collector.open_ended = True
        name = first.text
        if name is None or first.glob or depth > _DEEPEST:
            context.danger(messages.RUNS_COMPUTED_PROGRAM.format(program=program.name))
            return
        if name not in context.launched:
            context.launched.add(name)
            context.collector.add_program(name)
        if program_use.is_handrail(name):
            context.note(CommandClass.BLOCKED, messages.RUNS_HANDRAIL)
        inner = program_use.lookup_program(name, self._programs)
        context.note(CommandClass.DEV, messages.LAUNCHES.format(program=program.name, name=name))
        if "/" in name or name.endswith((".py", ".js", ".ts", ".rb", ".sh")):
            roles.classify_argument("script", first, context)
        elif inner is not None:
            self._classify_program(
                inner, rest, one, replace(context, program=inner.name), depth + 1
            )
        elif "modules" not in program.traits:
            context.danger(messages.UNKNOWN_PROGRAM.format(name=name))
