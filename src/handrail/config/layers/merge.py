"""Merges a table or list of one layer into the value of the layers below.

Lists are concatenated without duplicates. In `guardrails` the lower limit wins and a switch
that is on stays on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from handrail.config import messages
from handrail.config.files.document import Key, dotted, key_text
from handrail.config.layers.sources import SettingSource

# These settings are merged; every other setting is replaced by the higher layer.
MERGED_SETTINGS: Final = frozenset(
    {
        "blocked_commands",
        "sandbox_require",
        "programs",
        "permissions",
        "guardrails",
        "hooks",
        "agents",
    }
)
_STRICT: Final = "guardrails"
_LIMIT: Final = "max_"

Where = Callable[[Key], SettingSource]


def merge_values(
    base: Any, new: Any, key: Key, where: Where, sources: dict[str, SettingSource]
) -> Any:
    """Merge `new` into `base` and record the source of each new part in `sources`.

    Raises `invalid_arguments` if the two values have different types.
    """
    if new is None:
        return base
    if base is not None and _kind(base) != _kind(new):
        raise messages.DIFFERENT_TYPES.error(
            source=where(key), key=key_text(dotted(key)), new=_kind(new), base=_kind(base)
        )
    if isinstance(new, Mapping):
        return _table(base or {}, new, key, where, sources)
    if isinstance(new, list | tuple):
        return _list(base or (), new, key, where, sources)
    if base is None or _overrides(base, new, key):
        sources[dotted(key)] = where(key)
        return new
    return base


def leaves(value: Any, key: Key) -> Iterator[tuple[Key, Any]]:
    """Yield the path and value of each scalar and list item below `value`."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from leaves(one, (*key, name))
    elif isinstance(value, list | tuple):
        yield from (((*key, index), one) for index, one in enumerate(value))
    elif value is not None:
        yield key, value


def _table(
    base: Mapping[str, Any],
    new: Mapping[str, Any],
    key: Key,
    where: Where,
    sources: dict[str, SettingSource],
) -> dict[str, Any]:
    merged = dict(base)
    for name, value in new.items():
        if isinstance(value, Mapping | list | tuple):
            # So that an error about the whole part can name its line.
            sources.setdefault(dotted((*key, name)), where((*key, name)))
        one = merge_values(merged.get(name), value, (*key, name), where, sources)
        if one is not None:
            merged[name] = one
    return merged


def _list(
    base: Any, new: Any, key: Key, where: Where, sources: dict[str, SettingSource]
) -> list[Any]:
    merged = list(base)
    seen = {_identity(item) for item in merged}
    for index, item in enumerate(new):
        if _identity(item) not in seen:
            seen.add(_identity(item))
            for below in ((), *_item_paths(item)):
                sources[dotted((*key, len(merged), *below))] = where((*key, index, *below))
            merged.append(item)
    return merged


def _item_paths(item: Any) -> list[Key]:
    """Return the paths inside a table that is a list item, so that errors can name them."""
    return [path for path, _ in leaves(item, ())] if isinstance(item, Mapping) else []


def _identity(item: Any) -> str:
    """Return a hashable key that is equal for equal items."""
    return json.dumps(item, sort_keys=True, default=repr)


def _overrides(base: Any, new: Any, key: Key) -> bool:
    if key[0] != _STRICT:
        return True
    if isinstance(base, bool):
        return bool(new)
    # A negative limit is a mistake and must not replace a valid one.
    return bool(0 <= new < base) if str(key[-1]).startswith(_LIMIT) else True


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, Mapping):
        return "a table"
    return "a list" if isinstance(value, list | tuple) else "text"
