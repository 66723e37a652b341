"""Parses arguments as the program would: options, their values, operands.

An option that the grammar does not list, an abbreviation, or an argument that may turn out to be
an option is reported as unknown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from handrail.shell.classify.arguments import Argument
from handrail.shell.tables.program_table import (
    WORD_STYLES,
    ArgumentGrammar,
    OperandSlot,
    OptionSpec,
)

# What follows such a value is a command of its own.
_TERMINAL: Final = frozenset({"program", "module"})
_NO_OPTIONS: Final = frozenset({"none", "assignments"})
_GLOBS: Final = frozenset("*?[")
_NUMBER: Final = re.compile(r"-\d+")
_ATTACHED_NUMBER: Final = re.compile(r"[-+]?(?:0x[\da-fA-F]+|\d+)")
# No option takes back that the value of another one is written.
_WRITTEN: Final = frozenset({"write", "wtree", "output", "entry", "etree", "new-archive"})


class ParsedArgument(NamedTuple):
    """An argument with its role for the program."""

    role: str
    argument: Argument


class ParsedCommandLine(NamedTuple):
    """The arguments of a program, parsed by its grammar."""

    # The names of the options.
    given: frozenset[str]
    values: tuple[ParsedArgument, ...]
    operands: tuple[ParsedArgument, ...]
    unknown_options: tuple[Argument, ...]
    # Further roles of arguments, if one before them becomes several.
    shifted: tuple[ParsedArgument, ...] = ()
    # Operands for which the grammar has no slot.
    surplus_operands: tuple[Argument, ...] = ()
    # Arguments that may become more operands than there are slots.
    may_overflow: tuple[Argument, ...] = ()
    # Globs that may match a file whose name is an option.
    option_like_globs: tuple[Argument, ...] = ()
    # The command that the program runs.
    command: tuple[Argument, ...] = ()


def parse_arguments(grammar: ArgumentGrammar, arguments: Sequence[Argument]) -> ParsedCommandLine:
    """Parse the arguments by the grammar."""
    reading = _OptionParser(grammar, arguments)
    reading.run()
    slots = grammar.slots
    if reading.given & grammar.drops:
        slots = slots[1:]
    reading.skip_verb()
    operands, beyond = _placed(slots, reading.operands)
    shifted = _shifted(slots, reading.operands, reading.spilled)
    leading = reading.before[0] if reading.before else frozenset(reading.given)

    def turned(one: ParsedArgument, before: frozenset[str]) -> ParsedArgument:
        turns = _turns(grammar, reading.given, before)
        return ParsedArgument(turns.get(one.role, one.role), one.argument)

    return ParsedCommandLine(
        frozenset(reading.given),
        tuple(
            one if one.role in _WRITTEN else turned(one, frozenset(reading.given))
            for one in reading.values
        ),
        tuple(turned(one, before) for one, before in zip(operands, reading.before, strict=False)),
        tuple(reading.unknown_options),
        shifted=tuple(turned(one, leading) for one in shifted),
        surplus_operands=tuple(beyond),
        may_overflow=_crowded(slots, (*reading.spilled, *reading.operands)),
        option_like_globs=tuple(reading.option_like_globs),
        command=tuple(reading.command),
    )


def _turns(
    grammar: ArgumentGrammar, given: Collection[str], before: Collection[str]
) -> Mapping[str, str]:
    """How roles change by the options that are given, some of them only if given `before`."""
    cancelled = {name for one in given for name in grammar.cancels.get(one, ())}
    turns: dict[str, str] = {}
    for name in sorted(given):
        if name not in cancelled and (name in before or name not in grammar.early):
            turns |= grammar.turns.get(name, {})
    return turns


def split_subcommand(
    grammar: ArgumentGrammar, arguments: Sequence[Argument]
) -> tuple[ParsedCommandLine, tuple[Argument, ...]]:
    """The options before a subcommand, and the arguments from the subcommand on."""
    reading = _OptionParser(grammar, arguments, stop=True)
    reading.run()
    # A value that becomes several words may become the subcommand.
    strange = (*reading.unknown_options, *reading.spilled)
    parsed = ParsedCommandLine(frozenset(reading.given), tuple(reading.values), (), strange)
    return parsed, tuple(reading.operands)


class _OptionParser:
    def __init__(
        self, grammar: ArgumentGrammar, arguments: Sequence[Argument], *, stop: bool = False
    ) -> None:
        self._grammar = grammar
        self._options = grammar.options if grammar.options is not None else {}
        self._queue = list(arguments)
        self._stop = stop or grammar.stops
        self.given: set[str] = set()
        self.values: list[ParsedArgument] = []
        self.operands: list[Argument] = []
        # The options in front of each operand.
        self.before: list[frozenset[str]] = []
        self.unknown_options: list[Argument] = []
        # Values of which the second word would be an operand.
        self.spilled: list[Argument] = []
        self.option_like_globs: list[Argument] = []
        self.command: list[Argument] = []

    def skip_verb(self) -> None:
        """Leave out the first operand if it only says what is the case without it."""
        if self.operands and self.operands[0].text in self._grammar.verbs:
            del self.operands[0], self.before[0]

    def _operate(self, *arguments: Argument) -> None:
        self.operands.extend(arguments)
        self.before.extend([frozenset(self.given)] * len(arguments))

    def run(self) -> None:
        while self._queue:
            argument = self._queue.pop(0)
            text = argument.text if argument.text is not None else argument.prefix
            if argument.text == "--" and self._grammar.style == "letters":
                self._operate(*self._queue)
                return
            if self._grammar.style == "assignments" and self._assigned(argument, text):
                continue
            if self._grammar.style in _NO_OPTIONS or not self._may_be_option(argument, text):
                self._operate(argument)
                self._look_at(argument)
                if self._ends_here():
                    return
            elif argument.text is None:
                self._computed(argument)
            elif self._grammar.style in WORD_STYLES:
                self._word(argument, text)
            elif text.startswith("--"):
                self._long(argument, text)
            else:
                self._letters(argument, text)

    def _assigned(self, argument: Argument, text: str) -> bool:
        """`of=file`, as dd takes it."""
        name, equals, _ = text.partition("=")
        option = self._options.get(name)
        if not equals or option is None:
            return False
        self.given.add(name)
        value = argument.tail(len(name) + 1)
        # The shell expands a tilde behind the `=` of what looks like an assignment.
        value = replace(value, tilde=(value.text or value.prefix).startswith("~"))
        self.values.append(ParsedArgument(option.roles[0], value))
        return True

    def _ends_here(self) -> bool:
        """Whether the first operand ends the options of the program."""
        terminal = self._grammar.slots and self._grammar.slots[0].role in _TERMINAL
        if terminal:
            self.command.append(self.operands.pop())
            self.before.pop()
            self.command.extend(self._queue)
            return True
        if self._stop:
            self._operate(*self._queue)
            return True
        return False

    @staticmethod
    def _may_be_option(argument: Argument, text: str) -> bool:
        if argument.text is not None:
            return text.startswith("-") and text != "-"
        computed = not argument.plain and (not argument.single or not text)
        return computed or text.startswith("-")

    def _computed(self, argument: Argument) -> None:
        """Handle `--file="$X"`, an option with a value; any other gap may be any option."""
        name, equals, _ = argument.prefix.partition("=")
        option = self._options.get(name)
        if equals and option is not None and len(option.roles) == 1 and argument.single:
            self.given.add(name)
            self.values.append(ParsedArgument(option.roles[0], argument.tail(len(name) + 1)))
        else:
            self.unknown_options.append(argument)
            self._operate(argument)

    def _word(self, argument: Argument, text: str) -> None:
        option = self._options.get(text)
        if option is not None:
            self._take(text, option)
            return
        short = self._options.get(text[:2])
        numbered = self._grammar.style == "numbered" and _ATTACHED_NUMBER.fullmatch(text[2:])
        if short is not None and short.roles and numbered:
            self.given.add(text[:2])
            self.values.append(ParsedArgument(short.roles[0], argument.tail(2)))
        else:
            self.unknown_options.append(argument)

    def _long(self, argument: Argument, text: str) -> None:
        name, equals, _ = text.partition("=")
        option = self._options.get(name)
        if option is None or (equals and not option.roles):
            self.unknown_options.append(argument)
        elif equals:
            self.given.add(name)
            self.values.append(ParsedArgument(option.roles[0], argument.tail(len(name) + 1)))
        elif option.attached:
            self.given.add(name)
        else:
            self._take(name, option)

    def _letters(self, argument: Argument, text: str) -> None:
        if text in self._options and len(text) > 2:
            self._take(text, self._options[text])
            return
        if "-0" in self._options and _NUMBER.fullmatch(text):
            self.given.add("-0")
            return
        for index, letter in enumerate(text[1:], 2):
            option = self._options.get(f"-{letter}")
            if option is None:
                self.unknown_options.append(argument)
                return
            if option.roles and (option.attached or index < len(text)):
                self.given.add(f"-{letter}")
                if index < len(text):
                    self.values.append(ParsedArgument(option.roles[0], argument.tail(index)))
                return
            self._take(f"-{letter}", option)

    def _take(self, name: str, option: OptionSpec) -> None:
        """Take the values of an option from the next words; a command ends at `;` or `+`."""
        self.given.add(name)
        if option.attached:
            return
        for role in option.roles:
            if role in _TERMINAL:
                self.command.extend(self._queue)
                self._queue.clear()
            elif role == "command":
                self._skip_command()
            elif self._queue:
                value = self._queue.pop(0)
                self._look_at(value)
                self.values.append(ParsedArgument(role, value))
                if value.may_split:
                    self._spill(value)

    def _spill(self, value: Argument) -> None:
        self.spilled.append(value)
        if value.text is None:
            self.unknown_options.append(value)

    def _look_at(self, argument: Argument) -> None:
        """Record a glob that may match a file whose name is an option."""
        if self._grammar.style != "none" and argument.glob and (argument.text or "")[:1] in _GLOBS:
            self.option_like_globs.append(argument)

    def _skip_command(self) -> None:
        while self._queue:
            word = self._queue.pop(0)
            braces = word.text == "{}"
            if word.text == ";" or (braces and self._queue and self._queue[0].text == "+"):
                if braces:
                    self._queue.pop(0)
                return


def _placed(
    slots: Sequence[OperandSlot], operands: Sequence[Argument]
) -> tuple[list[ParsedArgument], list[Argument]]:
    """The operands with their roles, and the operands for which the grammar has no slot."""
    wide = next((i for i, slot in enumerate(slots) if slot.most is None), None)
    if wide is None:
        placed = [
            ParsedArgument(slot.role, one) for slot, one in zip(slots, operands, strict=False)
        ]
        return placed, list(operands[len(slots) :])
    after = len(slots) - wide - 1
    spare = max(0, len(operands) - wide - after)
    roles = [slot.role for slot in slots[:wide]]
    roles += [slots[wide].role] * spare
    roles += [slot.role for slot in slots[wide + 1 :]]
    return [ParsedArgument(role, one) for role, one in zip(roles, operands, strict=False)], []


def _shifted(
    slots: Sequence[OperandSlot], operands: Sequence[Argument], spilled: Sequence[Argument]
) -> list[ParsedArgument]:
    """The further roles of operands, if one before them becomes several words."""
    wide = next((i for i, slot in enumerate(slots) if slot.most is None), len(slots))
    first = next((i for i, one in enumerate(operands) if one.may_split), len(operands))
    places = [(0, one) for one in spilled]
    start = 0 if spilled else first
    places += [(min(i, wide), one) for i, one in enumerate(operands) if i >= start]
    return [
        ParsedArgument(role, one)
        for place, one in places
        for role in dict.fromkeys(slot.role for slot in slots[place:])
    ]


def _crowded(slots: Sequence[OperandSlot], arguments: Sequence[Argument]) -> tuple[Argument, ...]:
    # The shell goes to no directory when it is told two.
    if any(slot.most is None or slot.role == "dir" for slot in slots):
        return ()
    return tuple(one for one in arguments if one.may_split)
