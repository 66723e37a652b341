"""Reports: the output of `doctor`, and the settings with their sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handrail.ui.html import Child, Html, element
from handrail.ui.pages.layout import table


class SettingRow(NamedTuple):
    """A setting, its value as text, and its source."""

    name: str
    value: str
    source: str


def render_report(title: str, report: Mapping[str, Any]) -> list[Html]:
    """Return nested values as lists."""
    return [element("h1", title), *(_section(name, value) for name, value in report.items())]


def _section(name: str, value: Any) -> Html:
    return element("section", element("h2", name.replace("_", " ")), _value(value))


def _value(value: Any) -> Html:
    if isinstance(value, Mapping):
        rows: list[Child] = []
        for name, item in value.items():
            rows += [element("dt", str(name)), element("dd", _value(item))]
        return element("dl", *rows) if rows else element("span", "none")
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = [element("li", _value(item)) for item in value]
        return element("ul", *items) if items else element("span", "none")
    if isinstance(value, bool) or value is None:
        return element("span", {True: "yes", False: "no", None: "none"}[value])
    return element("span", str(value))


def render_settings(rows: Sequence[SettingRow]) -> list[Html]:
    """Return all settings in force."""
    shown: list[tuple[Child, ...]] = [
        (element("code", row.name), element("code", row.value), row.source) for row in rows
    ]
    return [element("h1", "Settings"), table(("setting", "value", "set by"), shown)]
