"""Values to read: the report of `doctor`, and the settings with their sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handrail.ui.html import Child, Html, element
from handrail.ui.pages.layout import table


class SettingRow(NamedTuple):
    """A setting, its value as text, and where it was set."""

    name: str
    value: str
    source: str


def render_report(title: str, report: Mapping[str, Any]) -> list[Html]:
    """Nested values as lists."""
    return [element("h1", title), *(_section(name, value) for name, value in report.items())]


def _section(name: str, value: Any) -> Html:
    return element("section", element("h2", name.replace("_", " ")), _value(value))


def _value(value: Any) -> Html:
    if isinstance(value, Mapping):
        rows: list[Child] = []
        for name, one in value.items():
            rows += [element("dt", str(name)), element("dd", _value(one))]
        return element("dl", *rows) if rows else element("span", "none")
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = [element("li", _value(one)) for one in value]
        return element("ul", *items) if items else element("span", "none")
    if isinstance(value, bool) or value is None:
        return element("span", {True: "yes", False: "no", None: "none"}[value])
    return element("span", str(value))


def render_settings(rows: Sequence[SettingRow]) -> list[Html]:
    """All settings in force."""
    shown: list[tuple[Child, ...]] = [
        (element("code", one.name), element("code", one.value), one.source) for one in rows
    ]
    return [element("h1", "Settings"), table(("setting", "value", "set by"), shown)]
