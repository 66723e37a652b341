"""Validates the values of one layer and maps aliases to setting names.

Errors name the file, the line and the key as written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from handrail.config import messages
from handrail.config.files.document import Document, dotted, key_text, location
from handrail.config.layers.server_file import SERVER_TABLE, read_server_table, unused_variables
from handrail.config.layers.sources import Layer, SettingSource
from handrail.config.model import RULE_LISTS, SETTING_NAMES
from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    from pydantic import ValidationError

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
    "dataclass_type": "a table",
}
_BOUNDS: Final = {
    "greater_than_equal": "it must be at least {ge}",
    "greater_than": "it must be more than {gt}",
    "less_than_equal": "it must be at most {le}",
    "string_too_short": "it must not be empty",
    "string_too_long": "it may have at most {max_length} characters",
    "missing": "it is missing",
    "unexpected_keyword_argument": "unknown key",
    "literal_error": "it must be {expected}",
}


def format_validation_error(error: Mapping[str, Any]) -> str:
    """Describe one pydantic validation error as a clause."""
    kind, limits = str(error["type"]), error.get("ctx", {})
    if kind in _KINDS:
        return f"it must be {_KINDS[kind]}, not {_type_name(error['input'])}"
    if kind in _BOUNDS:
        return _BOUNDS[kind].format_map(limits)
    return str(limits["error"]) if kind == "value_error" else str(error["msg"])


def _type_name(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, float):
        return "a decimal number"
    if isinstance(value, int):
        return "a number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Mapping):
        return "a table"
    return "a list" if isinstance(value, list | tuple) else f"a {type(value).__name__}"


# Sections and keys accepted as aliases of one setting.
ALIASES: Final[Mapping[str, Mapping[str, str]]] = {
    "workspace": {"allow_delete": "allow_delete", "root": "root"},
    "commands": {
        "enabled": "commands",
        "default_timeout": "command_timeout_s",
        "max_output_lines": "max_output_lines",
        "allowed_only": "allowed_only",
    },
    "sandbox": {"require": "sandbox_require"},
    "permissions": {"defaultMode": "mode", "additionalDirectories": "directories"},
}
_ROOT: Final = "root"
_RULES: Final = "permissions"
_MAX_FAULTS: Final = 10


class _SettingEntry(NamedTuple):
    """One key of a layer."""

    key: str  # name of the setting, "" if unknown
    written: tuple[str | int, ...]  # path as written in the file
    value: Any


class LayerValues(NamedTuple):
    """The values that one layer sets."""

    layer: Layer
    values: Mapping[str, Any]
    written: Mapping[str, tuple[str | int, ...]]  # setting name to its path in the file
    document: Document | None = None  # None for keyword arguments

    def source(self, key: str, *below: str | int) -> SettingSource:
        """Return the source of a key, or of a part below it."""
        if self.document is None:
            return SettingSource(self.layer)
        line = self.document.line((*self.written[key], *below))
        return SettingSource(self.layer, self.document.path, line)

    def written_parts(self, key: str) -> frozenset[str]:
        """Return the names that the file writes in the table of a setting."""
        found: Any = {} if self.document is None else self.document.values
        for part in self.written[key]:
            found = found[part]
        return frozenset(found) if isinstance(found, Mapping) else frozenset()


def from_document(layer: Layer, document: Document, root: Path | None) -> LayerValues:
    """Validate a file. Relative directories in a project file are relative to its root."""
    return _validate(layer, document.values, document, root)


def from_mapping(layer: Layer, values: Mapping[str, Any]) -> LayerValues:
    """Validate keyword arguments; a value of None counts as not given."""
    return _validate(layer, values, None, None)


def _validate(
    layer: Layer, values: Mapping[str, Any], document: Document | None, root: Path | None
) -> LayerValues:
    entries = list(_entries(values))
    bare = LayerValues(layer, {}, {one.key: one.written for one in entries}, document)
    faults = [
        *_unknown_keys(entries, values),
        *_duplicates(entries),
        *_root_settings(entries, root),
        *_unused_variables(values),
    ]
    if faults:
        raise _invalid_settings(bare, faults)
    raw = {one.key: one.value for one in entries if one.key != _ROOT}
    if root is not None and isinstance(raw.get("directories"), list):
        raw["directories"] = [_resolve_from(root, one) for one in raw["directories"]]
    if not raw:
        return bare
    # Imported here because it loads pydantic, which a runtime with the defaults does not need.
    from handrail.config.validation import ValidationError, validate_settings

    try:
        model = validate_settings(raw)
    except ValidationError as error:
        raise _invalid_settings(bare, list(_validation_faults(error, bare.written))) from error
    return LayerValues(layer, {key: getattr(model, key) for key in raw}, bare.written, document)


def _entries(values: Mapping[str, Any]) -> Iterator[_SettingEntry]:
    for name, value in values.items():
        inner = ALIASES.get(name)
        if name == SERVER_TABLE and isinstance(value, dict):
            yield _SettingEntry("mcp", (name,), read_server_table(value))
        elif inner is not None and isinstance(value, dict):
            # Some keys of this section are aliases of other settings; the others belong to the section.
            own = {part: one for part, one in value.items() if name == _RULES and part not in inner}
            if own or (name == _RULES and not value):
                yield _SettingEntry(name, (name,), own)
            for part, one in value.items():
                if one is not None and part not in own:
                    yield _SettingEntry(inner.get(part, ""), (name, part), one)
        elif value is not None:
            yield _SettingEntry(name if name in SETTING_NAMES else "", (name,), value)


Fault = tuple[tuple[str | int, ...], str]


def _unknown_keys(entries: list[_SettingEntry], values: Mapping[str, Any]) -> Iterator[Fault]:
    known = [*SETTING_NAMES, *(f"{one}.{key}" for one in ALIASES for key in ALIASES[one])]
    unknown = [entry.written for entry in entries if not entry.key]
    for number, written in enumerate(unknown):
        # Suggestions are slow to compute: only for the faults that are printed.
        meant = _suggest(dotted(written), known) if number < _MAX_FAULTS else ""
        yield written, f"unknown setting{meant}"
    rules = values.get(_RULES)
    for part in rules if isinstance(rules, dict) else ():
        if part not in RULE_LISTS and part not in ALIASES[_RULES]:
            lists = [f"{_RULES}.{one}" for one in RULE_LISTS]
            inside = (_RULES, part)
            yield inside, f"unknown list of rules{_suggest(dotted(inside), lists)}"


def _duplicates(entries: list[_SettingEntry]) -> Iterator[Fault]:
    seen: dict[str, _SettingEntry] = {}
    for entry in entries:
        first = seen.setdefault(entry.key, entry)
        if entry.key and first is not entry:
            yield entry.written, f"it is the same setting as `{dotted(first.written)}`"


def _root_settings(entries: list[_SettingEntry], root: Path | None) -> Iterator[Fault]:
    """Reject `root`, unless it names the workspace that the file is in."""
    for entry in entries:
        if entry.key == _ROOT and not _is_here(entry.value, root):
            yield entry.written, "the workspace is set with -w or handrail.open(), not in a file"


def _unused_variables(values: Mapping[str, Any]) -> Iterator[Fault]:
    servers = values.get(SERVER_TABLE)
    return unused_variables(servers) if isinstance(servers, dict) else iter(())


def _is_here(value: Any, root: Path | None) -> bool:
    if value == ".":
        return True
    return (
        root is not None and isinstance(value, str) and (root / value).resolve() == root.resolve()
    )


def _resolve_from(root: Path, one: Any) -> Any:
    return str(root / Path(one).expanduser()) if isinstance(one, str) else one


def _validation_faults(
    error: ValidationError, written: Mapping[str, tuple[str | int, ...]]
) -> Iterator[Fault]:
    for one in error.errors(include_url=False):
        key, *below = one["loc"]
        path = written[str(key)]
        # The servers are directly in this table, without the key `servers`.
        below = below[1:] if path == (SERVER_TABLE,) else below
        yield (*path, *below), format_validation_error(one)


def _invalid_settings(given: LayerValues, faults: list[Fault]) -> ProblemRaised:
    rows = [_row(given, *fault) for fault in faults[:_MAX_FAULTS]]
    if len(faults) > _MAX_FAULTS:
        rows.append(f"and {len(faults) - _MAX_FAULTS} more")
    in_file = given.document is not None
    template = messages.INVALID_SETTINGS_FILE if in_file else messages.INVALID_SETTINGS
    return template.error(faults="; ".join(rows), field=key_text(dotted(faults[0][0])))


def _row(given: LayerValues, written: tuple[str | int, ...], why: str) -> str:
    if given.document is None:
        return f"{key_text(dotted(written))}: {why}"
    where = location(given.document.path, given.document.line(written))
    return f"{where}: {key_text(dotted(written))}: {why}"


def _suggest(given: str, known: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(given, known, n=2, cutoff=0.6)
    return f"; did you mean {' or '.join(f'`{one}`' for one in close)}?" if close else ""
