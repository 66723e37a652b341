"""What one layer says, in our own key names: checked, with the source of each value.

Every error names the file, the line and the key as it was written there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from handrail.config.files.document import Document, dotted, place, shown
from handrail.config.layers.sources import Layer, Source
from handrail.config.model import Permissions, Settings
from handrail.core.problems import ProblemRaised

_KINDS: Final = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}
_BOUNDS: Final = {
    "greater_than_equal": "it must be at least {ge}",
    "greater_than": "it must be more than {gt}",
    "less_than_equal": "it must be at most {le}",
    "string_too_short": "it must not be empty",
    "string_too_long": "it may have at most {max_length} letters",
    "missing": "it is missing",
    "extra_forbidden": "there is no such key",
    "literal_error": "it must be {expected}",
}


def told(error: Mapping[str, Any]) -> str:
    """One error of a validation as a clause."""
    kind, limits = str(error["type"]), error.get("ctx", {})
    if kind in _KINDS:
        return f"it must be {_KINDS[kind]}, and is {_is(error['input'])}"
    if kind in _BOUNDS:
        return _BOUNDS[kind].format_map(limits)
    return str(limits["error"]) if kind == "value_error" else str(error["msg"])


def _is(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, float):
        return "a number with a point"
    if isinstance(value, int):
        return "a number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Mapping):
        return "a table"
    return "a list" if isinstance(value, list | tuple) else f"a {type(value).__name__}"


# Sections and keys as other systems write them, where they mean exactly one of ours.
ALIASES: Final[Mapping[str, Mapping[str, str]]] = {
    "workspace": {"allow_delete": "allow_delete", "root": "root"},
    "commands": {
        "enabled": "commands",
        "default_timeout": "command_timeout_s",
        "max_output_lines": "max_output_lines",
        "allowed_only": "allowed_only",
    },
    "sandbox": {"require": "sandbox_require"},
}
_ROOT: Final = "root"
_MOST: Final = 10
_HINT: Final = "`handrail config show` lists every setting and its value"
_HINT_FILE: Final = "mend the file; `handrail config check FILE` tries it"


class _Entry(NamedTuple):
    """A key of ours, how it was written, and its value."""

    key: str
    written: tuple[str | int, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class Given:
    """The values of one layer; only keys that it sets."""

    layer: Layer
    values: Mapping[str, Any]
    written: Mapping[str, tuple[str | int, ...]]
    document: Document | None = None

    def source(self, key: str, *below: str | int) -> Source:
        """Where a key, or what is below it, stands."""
        if self.document is None:
            return Source(self.layer)
        line = self.document.line((*self.written[key], *below))
        return Source(self.layer, self.document.path, line)


def from_document(layer: Layer, document: Document, root: Path | None) -> Given:
    """What a file says; relative directories in a workspace's file are meant from its root."""
    return _checked(layer, document.values, document, root)


def from_mapping(layer: Layer, values: Mapping[str, Any]) -> Given:
    """What a caller gave; None means that it was not given."""
    return _checked(layer, values, None, None)


def _checked(
    layer: Layer, values: Mapping[str, Any], document: Document | None, root: Path | None
) -> Given:
    entries = list(_entries(values))
    bare = Given(layer, {}, {one.key: one.written for one in entries}, document)
    faults = [*_unknown(entries, values), *_twice(entries), *_elsewhere(entries, root)]
    if faults:
        raise _refusal(bare, faults)
    raw = {one.key: one.value for one in entries if one.key != _ROOT}
    if root is not None and isinstance(raw.get("directories"), list):
        raw["directories"] = [_from(root, one) for one in raw["directories"]]
    try:
        model = Settings.model_validate(raw)
    except ValidationError as error:
        raise _refusal(bare, list(_misfits(error, bare.written))) from error
    return Given(layer, {key: getattr(model, key) for key in raw}, bare.written, document)


def _entries(values: Mapping[str, Any]) -> Iterator[_Entry]:
    for name, value in values.items():
        inner = ALIASES.get(name)
        if inner is not None and isinstance(value, dict):
            for part, one in value.items():
                if one is not None:
                    yield _Entry(inner.get(part, ""), (name, part), one)
        elif value is not None:
            yield _Entry(name if name in Settings.model_fields else "", (name,), value)


Fault = tuple[tuple[str | int, ...], str]


def _unknown(entries: list[_Entry], values: Mapping[str, Any]) -> Iterator[Fault]:
    known = [*Settings.model_fields, *(f"{one}.{key}" for one in ALIASES for key in ALIASES[one])]
    unknown = [entry.written for entry in entries if not entry.key]
    for number, written in enumerate(unknown):
        # What was meant is looked for only where it will be read: it takes a while.
        meant = _meant(dotted(written), known) if number < _MOST else ""
        yield written, f"there is no such setting{meant}"
    rules = values.get("permissions")
    for part in rules if isinstance(rules, dict) else ():
        if part not in Permissions.model_fields:
            lists = [f"permissions.{one}" for one in Permissions.model_fields]
            inside = ("permissions", part)
            yield inside, f"there is no such list of rules{_meant(dotted(inside), lists)}"


def _twice(entries: list[_Entry]) -> Iterator[Fault]:
    seen: dict[str, _Entry] = {}
    for entry in entries:
        first = seen.setdefault(entry.key, entry)
        if entry.key and first is not entry:
            yield entry.written, f"it is the same setting as `{dotted(first.written)}`"


def _elsewhere(entries: list[_Entry], root: Path | None) -> Iterator[Fault]:
    """A file cannot choose the workspace; it may say that it is where it is."""
    for entry in entries:
        if entry.key == _ROOT and not _is_here(entry.value, root):
            yield entry.written, "the workspace is chosen with -w or handrail.open(), not in a file"


def _is_here(value: Any, root: Path | None) -> bool:
    if value == ".":
        return True
    return (
        root is not None and isinstance(value, str) and (root / value).resolve() == root.resolve()
    )


def _from(root: Path, one: Any) -> Any:
    return str(root / Path(one).expanduser()) if isinstance(one, str) else one


def _misfits(
    error: ValidationError, written: Mapping[str, tuple[str | int, ...]]
) -> Iterator[Fault]:
    for one in error.errors(include_url=False):
        key, *below = one["loc"]
        yield (*written[str(key)], *below), told(one)


def _refusal(given: Given, faults: list[Fault]) -> ProblemRaised:
    rows = [_row(given, *fault) for fault in faults[:_MOST]]
    if len(faults) > _MOST:
        rows.append(f"and {len(faults) - _MOST} more")
    return ProblemRaised(
        "invalid_arguments",
        f"these settings do not fit: {'; '.join(rows)}",
        hint=_HINT_FILE if given.document is not None else _HINT,
        field=shown(dotted(faults[0][0])),
    )


def _row(given: Given, written: tuple[str | int, ...], why: str) -> str:
    if given.document is None:
        return f"{shown(dotted(written))}: {why}"
    where = place(given.document.path, given.document.line(written))
    return f"{where}: {shown(dotted(written))}: {why}"


def _meant(given: str, known: list[str]) -> str:
    close = get_close_matches(given, known, n=2, cutoff=0.6)
    return f"; did you mean {' or '.join(f'`{one}`' for one in close)}?" if close else ""
