"""The settings in force: every layer over the one below it, and where each value comes from.

A workspace's own files pass `standing.py` first. What they may not say is left out and
claimed; nothing about it is an error, so that a cloned workspace still opens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from handrail.config.files.document import Key, dotted, parse, shown
from handrail.config.files.reading import LOCAL, PROJECT, FileText, read_own, read_workspace
from handrail.config.layers.merge import JOINED, joined, leaves
from handrail.config.layers.project_policy import PARTS, STANDINGS, UNKNOWN
from handrail.config.layers.sources import FOREIGN, Layer, Source
from handrail.config.layers.values import Given, from_document, from_mapping
from handrail.config.model import PermissionRule, Permissions, Settings
from handrail.config.trust import digest_of

_NAMED: Final = 6


class Fate(StrEnum):
    """What became of something that a workspace's file says."""

    APPLIES = "applies"
    UNTRUSTED = "needs trust"
    RESERVED = "never from a workspace"


@dataclass(frozen=True, slots=True)
class Claim:
    """One value in a workspace's own file, plain as JSON, and what became of it."""

    key: str
    value: Any
    source: Source
    fate: Fate


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings and how they came about.

    `sources` has every setting, and below it the parts of tables and lists that join, such
    as `permissions.allow[0]`. `digest` is of the workspace's own files, None if it has none.
    """

    settings: Settings
    sources: Mapping[str, Source]
    notices: Sequence[str]
    claims: Sequence[Claim]
    files: Sequence[Path]
    digest: str | None
    trusted: bool

    @property
    def ignored(self) -> Sequence[Claim]:
        """What the workspace's files say and what was left out."""
        return [one for one in self.claims if one.fate is not Fate.APPLIES]


def load(
    workspace: Path | None,
    own: Path | Mapping[str, Any] | None,
    overrides: Mapping[str, Any],
    trusted: Callable[[str], bool],
    session: Mapping[str, Any] | None = None,
) -> Loaded:
    """Defaults < the person's own < project < local < what the caller gave < the session.

    `own` is the person's file, which need not exist, or a mapping in its place. `trusted`
    answers for the digest of the workspace's files. Raises `invalid_arguments` with file,
    line and key, `outside_workspace` for a link that leads out.
    """
    merge = _Merge()
    if isinstance(own, Mapping):
        merge.add(from_mapping(Layer.USER, own), trusted=True)
    elif own is not None:
        file = read_own(own)
        if file is not None:
            merge.add(from_document(Layer.USER, parse(file), None), trusted=True)
    found = {} if workspace is None else _found(workspace)
    digest = digest_of(list(found.values())) if found else None
    trust = digest is not None and trusted(digest)
    for layer, text in found.items():
        merge.add(from_document(layer, parse(text), workspace), trusted=trust)
    merge.add(from_mapping(Layer.KEYWORD, overrides), trusted=True)
    if session:
        merge.add(from_mapping(Layer.SESSION, session), trusted=True)
    return Loaded(
        settings=merge.settings(),
        sources=merge.sources,
        notices=_notices(merge.claims, workspace),
        claims=tuple(merge.claims),
        files=tuple(text.path for text in found.values()),
        digest=digest,
        trusted=trust,
    )


def load_alone(path: Path) -> Loaded | None:
    """What one file says, over nothing but the defaults and as if it were trusted, to see
    whether it fits; None if there is no such file. Where it lies says whose it is.
    """
    layer, workspace = Layer.USER, None
    for one, names in ((Layer.PROJECT, PROJECT), (Layer.LOCAL, LOCAL)):
        if "/".join(path.absolute().parts[-2:]) in names:
            layer, path = one, path.absolute()
            workspace = path.parent.parent
    file = read_own(path)
    if file is None:
        return None
    given = from_document(layer, parse(file), workspace)
    merge = _Merge()
    merge.add(given, trusted=True)
    return Loaded(
        settings=merge.settings(),
        sources=merge.sources,
        notices=_notices(merge.claims, workspace),
        claims=tuple(merge.claims),
        files=() if workspace is None else (path,),
        digest=None,
        trusted=True,
    )


def _found(workspace: Path) -> dict[Layer, FileText]:
    texts = {
        Layer.PROJECT: read_workspace(workspace, PROJECT),
        Layer.LOCAL: read_workspace(workspace, LOCAL),
    }
    return {layer: text for layer, text in texts.items() if text is not None}


class _Merge:
    """What has been said so far."""

    def __init__(self) -> None:
        defaults = Settings.model_validate({})
        self.sources: dict[str, Source] = {}
        self.claims: list[Claim] = []
        self._values: dict[str, Any] = {}
        for key in Settings.model_fields:
            self.sources[key] = Source(Layer.DEFAULT)
            self._values[key] = _parts(getattr(defaults, key))

    def settings(self) -> Settings:
        return Settings.model_validate(self._values)

    def add(self, given: Given, *, trusted: bool) -> None:
        for key, value in given.values.items():
            said = _parts(value)
            if given.layer in FOREIGN:
                kept = self._admitted(given, key, said, trusted=trusted)
                if kept is None:
                    continue
                said = kept
            self._set(given, key, said)

    def _set(self, given: Given, key: str, said: Any) -> None:
        self.sources[key] = given.source(key)
        if key not in JOINED:
            self._values[key] = said
            return

        def where(path: Key) -> Source:
            return given.source(key, *path[1:])

        self._values[key] = joined(self._values[key], said, (key,), where, self.sources)

    def _admitted(self, given: Given, key: str, said: Any, *, trusted: bool) -> Any:
        """The part of a value that a workspace's file may say, None if there is none."""
        if key in PARTS:
            kept = {
                part: value
                for part, value in said.items()
                if self._claim_part(given, key, part, value, trusted=trusted)
            }
            return kept or None
        row = STANDINGS.get(key, UNKNOWN)
        fate = Fate.UNTRUSTED if row.can_be_trusted(said) else Fate.RESERVED
        if row.needs_nothing(self._values[key], said) or (trusted and fate is Fate.UNTRUSTED):
            fate = Fate.APPLIES
        self.claims.append(Claim(key, _plain(said), given.source(key), fate))
        return said if fate is Fate.APPLIES else None

    def _claim_part(self, given: Given, key: str, part: str, value: Any, *, trusted: bool) -> bool:
        applies = trusted or part in PARTS[key]
        fate = Fate.APPLIES if applies else Fate.UNTRUSTED
        for below, one in leaves(value, (part,)):
            source = given.source(key, *below)
            self.claims.append(Claim(dotted((key, *below)), _plain(one), source, fate))
        return applies


def _parts(value: Any) -> Any:
    """A section as a table of what it sets, so that all sections join alike."""
    if isinstance(value, Permissions):
        lists = {name: getattr(value, name) for name in Permissions.model_fields}
        return {name: rules for name, rules in lists.items() if rules}
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, PermissionRule):
        return value.model_dump(mode="json") if value.examples else value.rule
    return list(value) if isinstance(value, tuple) else value


def _notices(claims: Sequence[Claim], workspace: Path | None) -> tuple[str, ...]:
    told = {
        Fate.UNTRUSTED: "ignored until you trust it (`handrail trust` shows what it would do)",
        Fate.RESERVED: "ignored, because only your own settings can say it",
    }
    rows = []
    for fate, why in told.items():
        for file in dict.fromkeys(one.source.file for one in claims):
            keys = [one.key for one in claims if one.fate is fate and one.source.file == file]
            if keys and file is not None:
                name = file.relative_to(workspace) if workspace is not None else file
                rows.append(f"{name}: {_some(keys)}: {why}")
    return tuple(rows)


def _some(keys: Sequence[str]) -> str:
    named = ", ".join(shown(one) for one in keys[:_NAMED])
    return named if len(keys) <= _NAMED else f"{named} and {len(keys) - _NAMED} more"
