"""Loads the settings in force by merging the layers, and records the source of each value.

Values in project files are checked against `project_policy.py`. A value that a project may not
set is ignored and reported as a claim, not as an error, so that a cloned workspace still opens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from handrail.config.files.document import Key, dotted, key_text, parse_document
from handrail.config.files.reading import (
    LOCAL,
    PROJECT,
    FileText,
    read_project_file,
    read_user_file,
)
from handrail.config.layers.merge import MERGED_SETTINGS, leaves, merge_values
from handrail.config.layers.sources import PROJECT_LAYERS, Layer, SettingSource
from handrail.config.layers.values import LayerValues, from_document, from_mapping
from handrail.config.model import RULE_LISTS, SETTING_NAMES, PermissionRule, Permissions, Settings
from handrail.config.trust import files_digest

_MAX_NAMED: Final = 6


class ClaimStatus(StrEnum):
    """Whether a value in a project file is in effect."""

    APPLIES = "applies"
    UNTRUSTED = "needs trust"
    RESERVED = "never from a workspace"


class ProjectClaim(NamedTuple):
    """One value in a project file, and whether it is in effect."""

    key: str
    value: Any  # JSON types only
    source: SettingSource
    status: ClaimStatus


class LoadedSettings(NamedTuple):
    """The merged settings, with the source of each value."""

    settings: Settings
    sources: Mapping[str, SettingSource]  # also parts of merged tables: `permissions.allow[0]`
    notices: Sequence[str]  # one line per project file with ignored values
    claims: Sequence[ProjectClaim]
    files: Sequence[Path]  # the project files that were read
    digest: str | None  # hash of the project files, None without such files
    trusted: bool  # whether the user trusts that digest

    @property
    def ignored(self) -> Sequence[ProjectClaim]:
        """The values of project files that are not in effect."""
        return [one for one in self.claims if one.status is not ClaimStatus.APPLIES]


def load_layers(
    workspace: Path | None,
    own: Path | Mapping[str, Any] | None,
    overrides: Mapping[str, Any],
    trusted: Callable[[str], bool],
    session: Mapping[str, Any] | None = None,
) -> LoadedSettings:
    """Merge the layers: defaults < user < project < local < keyword arguments < session.

    `own` is the path of the user's file, which may not exist, or a mapping to use instead.
    `trusted` receives the digest of the project files. Raises `invalid_arguments` with file,
    line and key, and `outside_workspace` for a symbolic link that leaves the workspace.
    """
    merge = _LayerMerger()
    if isinstance(own, Mapping):
        merge.add(from_mapping(Layer.USER, own), trusted=True)
    elif own is not None:
        file = read_user_file(own)
        if file is not None:
            merge.add(from_document(Layer.USER, parse_document(file), None), trusted=True)
    found = {} if workspace is None else _read_project_files(workspace)
    digest = files_digest(list(found.values())) if found else None
    trust = digest is not None and trusted(digest)
    for layer, text in found.items():
        merge.add(from_document(layer, parse_document(text), workspace), trusted=trust)
    merge.add(from_mapping(Layer.KEYWORD, overrides), trusted=True)
    if session:
        merge.add(from_mapping(Layer.SESSION, session), trusted=True)
    return LoadedSettings(
        settings=merge.settings(),
        sources=merge.sources,
        notices=_notices(merge.claims, workspace),
        claims=tuple(merge.claims),
        files=tuple(text.path for text in found.values()),
        digest=digest,
        trusted=trust,
    )


def load_single_file(path: Path) -> LoadedSettings | None:
    """Load one file over the defaults, as if it were trusted, to validate it.

    Returns None if the file does not exist. The layer follows from the file's location.
    """
    layer, workspace = Layer.USER, None
    for one, names in ((Layer.PROJECT, PROJECT), (Layer.LOCAL, LOCAL)):
        if "/".join(path.absolute().parts[-2:]) in names:
            layer, path = one, path.absolute()
            workspace = path.parent.parent
    file = read_user_file(path)
    if file is None:
        return None
    given = from_document(layer, parse_document(file), workspace)
    merge = _LayerMerger()
    merge.add(given, trusted=True)
    return LoadedSettings(
        settings=merge.settings(),
        sources=merge.sources,
        notices=_notices(merge.claims, workspace),
        claims=tuple(merge.claims),
        files=() if workspace is None else (path,),
        digest=None,
        trusted=True,
    )


def _read_project_files(workspace: Path) -> dict[Layer, FileText]:
    texts = {
        Layer.PROJECT: read_project_file(workspace, PROJECT),
        Layer.LOCAL: read_project_file(workspace, LOCAL),
    }
    return {layer: text for layer, text in texts.items() if text is not None}


class _LayerMerger:
    """The values merged so far."""

    def __init__(self) -> None:
        self._defaults = Settings()
        self._changed = False
        self.sources: dict[str, SettingSource] = {}
        self.claims: list[ProjectClaim] = []
        self._values: dict[str, Any] = {}
        for key in SETTING_NAMES:
            self.sources[key] = SettingSource(Layer.DEFAULT)
            self._values[key] = _parts(getattr(self._defaults, key))

    def settings(self) -> Settings:
        if not self._changed:
            return self._defaults
        from handrail.config.validation import validate_settings

        return validate_settings(self._values)

    def add(self, given: LayerValues, *, trusted: bool) -> None:
        for key, value in given.values.items():
            allowed = _parts(value)
            if given.layer in PROJECT_LAYERS:
                kept = self._admitted(given, key, allowed, trusted=trusted)
                if kept is None:
                    continue
                allowed = kept
            self._set(given, key, allowed)

    def _set(self, given: LayerValues, key: str, value: Any) -> None:
        self._changed = True
        self.sources[key] = given.source(key)
        if key not in MERGED_SETTINGS:
            self._values[key] = value
            return

        def where(path: Key) -> SettingSource:
            return given.source(key, *path[1:])

        self._values[key] = merge_values(self._values[key], value, (key,), where, self.sources)

    def _admitted(self, given: LayerValues, key: str, value: Any, *, trusted: bool) -> Any:
        """Return the part of a value that a project file may set, or None."""
        from handrail.config.layers.project_policy import (
            SETTING_RULES,
            UNKNOWN_RULE,
            UNTRUSTED_PARTS,
            join_web,
        )

        if key in UNTRUSTED_PARTS:
            kept = {
                part: one
                for part, one in value.items()
                if self._claim_part(given, key, part, one, trusted=trusted)
            }
            return kept or None
        if key == "web":
            value = join_web(self._values[key], value, given.written_parts(key))
        rule = SETTING_RULES.get(key, UNKNOWN_RULE)
        status = ClaimStatus.UNTRUSTED if rule.can_be_trusted(value) else ClaimStatus.RESERVED
        if rule.applies_untrusted(self._values[key], value) or (
            trusted and status is ClaimStatus.UNTRUSTED
        ):
            status = ClaimStatus.APPLIES
        self.claims.append(ProjectClaim(key, _plain(value), given.source(key), status))
        return value if status is ClaimStatus.APPLIES else None

    def _claim_part(
        self, given: LayerValues, key: str, part: str, value: Any, *, trusted: bool
    ) -> bool:
        from handrail.config.layers.project_policy import UNTRUSTED_PARTS

        applies = trusted or part in UNTRUSTED_PARTS[key]
        status = ClaimStatus.APPLIES if applies else ClaimStatus.UNTRUSTED
        for below, one in leaves(value, (part,)):
            source = given.source(key, *below)
            self.claims.append(ProjectClaim(dotted((key, *below)), _plain(one), source, status))
        return applies


def _parts(value: Any) -> Any:
    """Convert a section to a table of the keys it sets, so that all sections merge alike."""
    if isinstance(value, Permissions):
        lists = {name: getattr(value, name) for name in RULE_LISTS}
        return {name: rules for name, rules in lists.items() if rules}
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, PermissionRule):
        return (
            {"rule": value.rule, "examples": list(value.examples)} if value.examples else value.rule
        )
    return list(value) if isinstance(value, tuple) else value


def _notices(claims: Sequence[ProjectClaim], workspace: Path | None) -> tuple[str, ...]:
    reasons = {
        ClaimStatus.UNTRUSTED: "ignored until trusted (`handrail trust` shows what it would enable)",
        ClaimStatus.RESERVED: "ignored: only the user configuration can set it",
    }
    rows = []
    for status, why in reasons.items():
        for file in dict.fromkeys(one.source.file for one in claims):
            keys = [one.key for one in claims if one.status is status and one.source.file == file]
            if keys and file is not None:
                name = file.relative_to(workspace) if workspace is not None else file
                rows.append(f"{name}: {_join_some(keys)}: {why}")
    return tuple(rows)


def _join_some(keys: Sequence[str]) -> str:
    named = ", ".join(key_text(one) for one in keys[:_MAX_NAMED])
    return named if len(keys) <= _MAX_NAMED else f"{named} and {len(keys) - _MAX_NAMED} more"
