"""Parses the `guardrails` section into checked settings; every invalid value is an error that names
its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from handrail.core.problems import ProblemRaised
from handrail.policy import messages
from handrail.policy.guardrails.settings import (
    OFF,
    BadExpression,
    CodeRule,
    CommandSettings,
    Expression,
    FilePattern,
    GuardrailSettings,
    Limits,
    Omissions,
    QualityGate,
    compiled,
)
from handrail.policy.rules.paths.pattern import check_path_pattern

# Returns where a key of the section is written: file and line.
SettingPlace = Callable[[str], str]

KEYS: Final = (
    "enabled",
    "protected_files",
    "sensitive_files",
    "blocked_commands",
    "git_safety",
    "require_test_after_edit",
    "max_files_modified",
    "max_lines_changed",
    "max_commands_executed",
    "code_rules",
    "omissions",
    "quality_gates",
)
_MAX_TIMEOUT_S: Final = 600
_MAX_EXPRESSION_CHARS: Final = 2_000


def parse_guardrails(table: Mapping[str, Any], where: SettingPlace) -> GuardrailSettings:
    """The settings; raises `invalid_arguments` naming the key and its place."""
    section = _SectionTable(table, "", where)
    section.only(KEYS)
    settings = GuardrailSettings(
        protected=section.paths("protected_files"),
        sensitive=section.paths("sensitive_files"),
        commands=CommandSettings(
            blocked=section.expressions("blocked_commands"),
            git_safety=section.boolean("git_safety", default=False),
            tested=section.boolean("require_test_after_edit", default=False),
        ),
        limits=Limits(
            section.limit("max_files_modified"),
            section.limit("max_lines_changed"),
            section.limit("max_commands_executed"),
        ),
        code=tuple(_code_rule(one) for one in section.tables("code_rules")),
        omissions=_omissions(section),
        gates=_gates(section),
    )
    return settings if section.boolean("enabled", default=True) else OFF


def _omissions(section: _SectionTable) -> Omissions:
    chosen: Omissions = section.choice("omissions", get_args(Omissions), default="block")
    return chosen


def _code_rule(rule: _SectionTable) -> CodeRule:
    rule.only(("pattern", "message", "severity", "files"))
    return CodeRule(
        rule.expression("pattern"),
        rule.text("message"),
        rule.choice("severity", ("warn", "block"), default="warn") == "block",
        tuple(one.text for one in rule.paths("files")),
    )


def _gates(section: _SectionTable) -> tuple[QualityGate, ...]:
    gates: dict[str, QualityGate] = {}
    for one in section.tables("quality_gates"):
        one.only(("name", "command", "required", "timeout"))
        gate = QualityGate(
            one.text("name"),
            one.text("command"),
            one.boolean("required", default=True),
            one.seconds("timeout", default=60),
        )
        if gate.name in gates:
            raise one.wrong("name", f"{gate.name!r} names another gate already")
        gates[gate.name] = gate
    return tuple(gates.values())


class _SectionTable:
    """A table being read; `prefix` is its own name in the section."""

    def __init__(self, table: Mapping[str, Any], prefix: str, where: SettingPlace) -> None:
        self._table = table
        self._prefix = prefix
        self._where = where

    def wrong(self, key: str, why: str, hint: str | None = None) -> ProblemRaised:
        name = f"{self._prefix}{key}"
        values = {"place": self._where(name), "key": name, "reason": why}
        field = f"guardrails.{name}"
        if hint is None:
            return messages.INVALID_SETTING.error(field=field, **values)
        return messages.INVALID_SETTING_WITH_ADVICE.error(field=field, advice=hint, **values)

    def only(self, known: Sequence[str]) -> None:
        for key in self._table:
            if key not in known:
                raise self.wrong(key, "there is no such key", f"known are: {', '.join(known)}")

    def boolean(self, key: str, *, default: bool) -> bool:
        value = self._table.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(key, f"{value!r} is not true or false")
        return value

    def limit(self, key: str) -> int | None:
        value = self._table.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.wrong(
                key,
                f"{value!r} is not a whole number of at least 0",
                "0 allows nothing; leave the key out for no limit",
            )
        return value

    def seconds(self, key: str, *, default: float) -> float:
        value = self._table.get(key)
        if value is None:
            return default
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 1 <= value <= _MAX_TIMEOUT_S:
            raise self.wrong(
                key, f"{value!r} is not a number of seconds from 1 to {_MAX_TIMEOUT_S}"
            )
        return float(value)

    def choice(self, key: str, choices: Sequence[str], *, default: str) -> Any:
        value = self._table.get(key)
        if value is None:
            return default
        if value not in choices:
            raise self.wrong(key, f"{value!r} is not one of {', '.join(choices)}")
        return value

    def text(self, key: str) -> str:
        value = self._table.get(key)
        if not isinstance(value, str) or not value.strip():
            what = "it is missing" if value is None else f"{value!r} is not text"
            raise self.wrong(key, what)
        return value

    def paths(self, key: str) -> tuple[FilePattern, ...]:
        found = []
        for name, text in self._texts(key):
            try:
                check_path_pattern(text)
            except ProblemRaised as raised:
                why = f"{text!r} is not a path pattern: {raised.problem.message}"
                raise self.wrong(name, why) from raised
            found.append(FilePattern(text, self._where(f"{self._prefix}{name}")))
        return tuple(found)

    def expressions(self, key: str) -> tuple[Expression, ...]:
        return tuple(
            self._expression(name, text, ignore_case=True) for name, text in self._texts(key)
        )

    def expression(self, key: str) -> Expression:
        return self._expression(key, self.text(key), ignore_case=False)

    def tables(self, key: str) -> Iterator[_SectionTable]:
        for name, value in self._items(key):
            if not isinstance(value, Mapping):
                raise self.wrong(name, f"{value!r} is not a table")
            yield _SectionTable(value, f"{name}.", self._where)

    def _expression(self, name: str, text: str, *, ignore_case: bool) -> Expression:
        if len(text) > _MAX_EXPRESSION_CHARS:
            raise self.wrong(
                name, f"the expression is longer than {_MAX_EXPRESSION_CHARS:,} characters"
            )
        try:
            regex = compiled(text, ignore_case=ignore_case)
        except BadExpression as error:
            raise self.wrong(
                name,
                f"the expression {text!r} is not valid: {error}",
                "the syntax is RE2: no look-around and no back-references",
            ) from error
        return Expression(text, self._where(f"{self._prefix}{name}"), regex)

    def _texts(self, key: str) -> Iterator[tuple[str, str]]:
        for name, value in self._items(key):
            if not isinstance(value, str) or not value.strip():
                raise self.wrong(name, f"{value!r} is not text")
            yield name, value

    def _items(self, key: str) -> Iterator[tuple[str, Any]]:
        value = self._table.get(key)
        if value is None:
            return
        if not isinstance(value, list | tuple):
            raise self.wrong(key, f"{value!r} is not a list")
        for index, one in enumerate(value):
            yield f"{key}[{index}]", one
