"""The tables: every entry can be read, and what a person adds only ever adds."""

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import handrail.shell
from handrail.core.commands import CommandClass
from handrail.shell.classify import roles
from handrail.shell.classify.arguments import Argument
from handrail.shell.classify.options import parse_arguments
from handrail.shell.tables.program_table import ANY, ProgramSpec, load_programs

TABLES = Path(handrail.shell.__file__).parent / "tables" / "programs"
KEYS = {
    *("fetching", "cancels", "leads", "look"),
    *("class", "why", "options", "operands", "style", "drops", "turns", "spreads", "changes"),
    *(
        "cancels",
        "verbs",
        "early",
        "stops",
        "default",
        "answers",
        "traits",
        "deny",
        "clears",
        "dev",
        "danger",
        "sub",
    ),
}
TRAITS = {
    *("fetches", "processes"),
    *("builtin", "any", "open", "git", "endless", "bare", "alone", "needs", "net"),
    *("host", "dashless", "wrapper", "modules", "rest"),
}
TURNED = {"tarfile", "member", "place", "into", "command", "program", "module"}


def every(program):
    yield program
    for inner in program.subcommands.values():
        yield from every(inner)
    for _, use in program.looks:
        yield from every(use)


def programs():
    table = load_programs()
    for name in table.names():
        found = table.find(name)
        assert isinstance(found, ProgramSpec)
        yield from every(found)


def raw_entries():
    for file in TABLES.glob("*.toml"):
        for names, entry in tomllib.loads(file.read_text()).items():
            if not names.startswith("@"):
                yield from entries(names, entry)


def entries(names, entry):
    yield names, entry
    for inner, value in entry.get("sub", {}).items():
        yield from entries(f"{names} {inner}", value)
    for options, value in entry.get("look", {}).items():
        yield from entries(f"{names} {options}", value)


def test_no_program_is_written_twice():
    names = Counter(
        name
        for file in TABLES.glob("*.toml")
        for names in tomllib.loads(file.read_text())
        for name in names.split()
    )

    assert [name for name, count in names.items() if count > 1] == []


def test_every_key_of_the_tables_is_read():
    assert {(names, key) for names, entry in raw_entries() for key in entry.keys() - KEYS} == set()


def test_every_role_and_trait_has_a_meaning():
    known = roles.known_roles() | TURNED
    strange = set()
    for program in programs():
        grammar = program.grammar
        used = {slot.role for slot in grammar.slots}
        used |= {role for option in (grammar.options or {}).values() for role in option.roles}
        used |= {role for turn in grammar.turns.values() for role in turn.values()}
        strange |= {(program.name, role) for role in used - known}
        strange |= {(program.name, trait) for trait in program.traits - TRAITS}

    assert strange == set()


def test_what_is_safe_lists_its_options():
    loose = [
        program.name
        for program in programs()
        if program.safety_class is CommandClass.SAFE and program.grammar.options is None
    ]

    assert loose == []


def test_an_option_that_turns_operands_is_an_option():
    for program in programs():
        options = program.grammar.options
        if options is not None:
            named = {*program.grammar.turns, *program.grammar.drops, *program.grammar.changes}
            assert named <= options.keys(), program.name


def test_an_option_that_counts_only_behind_it_or_may_be_cancelled_turns_something():
    for program in programs():
        grammar = program.grammar
        cancelled = {name for names in grammar.cancels.values() for name in names}
        assert {*grammar.early, *cancelled} <= grammar.turns.keys(), program.name


def test_what_an_option_writes_is_written_whatever_else_is_given():
    grammar = load_programs().find("zstd").grammar
    given = [Argument(word, word) for word in ("-c", "a", "-o", "b")]

    parsed = parse_arguments(grammar, given)

    assert [(one.role, one.argument.text) for one in parsed.values] == [("output", "b")]
    assert [(one.role, one.argument.text) for one in parsed.operands] == [("read", "a")]


def test_a_new_program_is_dangerous_unless_its_class_is_said():
    table = load_programs({"mytool": {"options": ["-x"]}, "other": {"class": "dev"}})

    assert table.find("mytool").safety_class is CommandClass.DANGEROUS
    assert table.find("other").safety_class is CommandClass.DEV


def test_options_are_added_to_ours():
    before, after = (
        load_programs().find("ls"),
        load_programs({"ls": {"options": ["--shiny"]}}).find("ls"),
    )

    assert after.grammar.options.keys() - before.grammar.options.keys() == {"--shiny"}
    assert after.safety_class is before.safety_class


def test_a_stricter_entry_is_loosened_only_by_saying_the_class():
    added = load_programs({"curl": {"options": ["--silent"]}}).find("curl")
    said = load_programs({"curl": {"class": "dev"}}).find("curl")

    assert added.safety_class is CommandClass.DANGEROUS
    assert said.safety_class is CommandClass.DEV


def test_subcommands_are_added_to_ours():
    table = load_programs(
        {"git": {"subcommands": {"lg": {"class": "safe"}, "push": {"class": "dev"}}}}
    )
    git = table.find("git")

    assert git.subcommands["lg"].safety_class is CommandClass.SAFE
    assert git.subcommands["push"].safety_class is CommandClass.DEV
    assert (
        git.subcommands["status"].grammar
        == load_programs().find("git").subcommands["status"].grammar
    )


def test_a_class_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="'rm': class must be"):
        load_programs({"rm": {"class": "blocked"}})


def test_the_word_for_any_option():
    assert load_programs({"x": {"class": "safe", "options": ANY}}).find("x").grammar.options is None


def test_no_option_is_written_in_two_ways():
    """A flag that is also said to take a value would hide the next word from judgement."""
    twice = set()
    for names, entry in raw_entries():
        if entry.get("style", "letters") == "letters":
            tokens = entry.get("options", "").split()
            valued = {re.sub(r"\[?=.*", "", token) for token in tokens if "=" in token}
            flags = Counter(
                f"-{letter}"
                for token in tokens
                if re.fullmatch(r"-[^-=\[]+", token)
                for letter in token[1:]
            )
            flags.update(token for token in tokens if re.fullmatch(r"--[^=\[]+", token))
            twice |= {(names, flag) for flag, n in flags.items() if n > 1 or flag in valued}

    assert twice == set()
