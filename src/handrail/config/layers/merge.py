"""How a table or a list of one layer joins what the layers below it say.

Nothing that a lower layer lists is lost: lists grow, limits become the lower one, a switch
that is on stays on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from handrail.config.files.document import Key, dotted, shown
from handrail.config.layers.sources import Source
from handrail.core.problems import ProblemRaised

# Settings that join; every other setting is replaced by the higher layer.
JOINED: Final = frozenset(
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

Where = Callable[[Key], Source]


def joined(base: Any, new: Any, key: Key, where: Where, sources: dict[str, Source]) -> Any:
    """The two together; notes in `sources` where each part that is new comes from.

    Raises `invalid_arguments` if one is a list and the other is not, and the like.
    """
    if new is None:
        return base
    if base is not None and _kind(base) != _kind(new):
        raise ProblemRaised(
            "invalid_arguments",
            f"{where(key)}: {shown(dotted(key))} is {_kind(new)}, and {_kind(base)} elsewhere",
            hint="write it the same way in both files",
        )
    if isinstance(new, Mapping):
        return _table(base or {}, new, key, where, sources)
    if isinstance(new, list | tuple):
        return _list(base or (), new, key, where, sources)
    if base is None or _wins(base, new, key):
        sources[dotted(key)] = where(key)
        return new
    return base


def leaves(value: Any, key: Key) -> Iterator[tuple[Key, Any]]:
    """The single values of a table, and the items of its lists."""
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
    sources: dict[str, Source],
) -> dict[str, Any]:
    merged = dict(base)
    for name, value in new.items():
        one = joined(merged.get(name), value, (*key, name), where, sources)
        if one is not None:
            merged[name] = one
    return merged


def _list(base: Any, new: Any, key: Key, where: Where, sources: dict[str, Source]) -> list[Any]:
    merged = list(base)
    seen = {_same(item) for item in merged}
    for index, item in enumerate(new):
        if _same(item) not in seen:
            seen.add(_same(item))
            for below in ((), *_inside(item)):
                sources[dotted((*key, len(merged), *below))] = where((*key, index, *below))
            merged.append(item)
    return merged


def _inside(item: Any) -> list[Key]:
    """What a table in a list is made of, so that a mistake in it can be found."""
    return [path for path, _ in leaves(item, ())] if isinstance(item, Mapping) else []


def _same(item: Any) -> str:
    """What two equal items share; some of them cannot be put into a set."""
    return json.dumps(item, sort_keys=True, default=repr)


def _wins(base: Any, new: Any, key: Key) -> bool:
    if key[0] != _STRICT:
        return True
    if isinstance(base, bool):
        return bool(new)
    # Below zero is no limit but a mistake, and must not do away with one.
    return bool(0 <= new < base) if str(key[-1]).startswith(_LIMIT) else True


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, Mapping):
        return "a table"
    return "a list" if isinstance(value, list | tuple) else "text"
