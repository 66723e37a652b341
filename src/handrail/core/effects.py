"""The most that a tool may do: declared by its author, checked when it is registered and called.

A tool that declares no effects is not registered; a call whose footprint exceeds them is refused. The
code of a tool is trusted: nothing checks whether it does only what it declares.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Flag, auto
from typing import Final

from handrail.core.footprint import NOTHING, Access, Footprint, Touch
from handrail.core.paths import PathUse


class Effects(Flag):
    """The widest effects that any call of a tool may have; combine them with `|`.

    `PURE` stands alone: the tool neither reads nor changes anything that a call could name.
    `WRITES_PATHS` includes reading them. `SESSION` is state of the session and its jobs.
    `OPEN_ENDED` is everything: the user is asked about such a call, and it runs alone.
    """

    PURE = auto()
    READS_PATHS = auto()
    WRITES_PATHS = auto()
    SESSION = auto()
    NETWORK = auto()
    OPEN_ENDED = auto()


_PATHS: Final = Effects.READS_PATHS | Effects.WRITES_PATHS
_CHANGES: Final = Effects.WRITES_PATHS | Effects.SESSION | Effects.NETWORK | Effects.OPEN_ENDED
# The key of the session values of user-defined tools, and the key of every host.
_SESSION_KEY: Final = Touch("session:values", Access.WRITE)
_NETWORK_KEY: Final = Touch("net:*", Access.WRITE)


def path_effects(uses: Collection[PathUse]) -> Effects | None:
    """The effects that path types imply; None if there are no path types."""
    if not uses:
        return None
    return Effects.WRITES_PATHS if PathUse.WRITE in uses else Effects.READS_PATHS


def changes_anything(effects: Effects) -> bool:
    """Whether a call may change something."""
    return bool(effects & _CHANGES)


def check_statement(
    effects: Effects | None, uses: Collection[PathUse], *, plans: bool, own_footprint: bool
) -> Effects:
    """Return the declared effects if the tool's parameters and methods agree with them; raises
    TypeError with the contradiction.
    """
    if not isinstance(effects, Effects) or not effects:
        raise TypeError(
            "must state its effects, such as effects = handrail.Effects.READS_PATHS; "
            "use Effects.OPEN_ENDED if they cannot be known, Effects.PURE if there are none"
        )
    if Effects.PURE in effects and effects is not Effects.PURE:
        raise TypeError("states Effects.PURE together with others; PURE means none at all")
    if Effects.OPEN_ENDED in effects:
        return effects
    if PathUse.WRITE in uses and Effects.WRITES_PATHS not in effects:
        raise TypeError("has a WritePath argument, and its effects lack WRITES_PATHS")
    if uses and not effects & _PATHS:
        raise TypeError("has path arguments, and its effects lack READS_PATHS")
    if plans and Effects.WRITES_PATHS not in effects:
        raise TypeError("plans changes of files, and its effects lack WRITES_PATHS")
    named = own_footprint or plans
    if effects & _PATHS and not uses and not named:
        raise TypeError(
            "states that it touches paths, and has no path argument and no footprint that says "
            "which; annotate them as ReadPath, WritePath or TreePath, or state OPEN_ENDED"
        )
    if Effects.WRITES_PATHS in effects and PathUse.WRITE not in uses and not named:
        raise TypeError(
            "states WRITES_PATHS, and has no WritePath argument and no footprint that says what "
            "is written"
        )
    return effects


def base_footprint(effects: Effects) -> Footprint:
    """What every call touches in addition to its path arguments, unless the tool computes a smaller
    footprint.
    """
    touches = [_SESSION_KEY] if Effects.SESSION in effects else []
    touches += [_NETWORK_KEY] if Effects.NETWORK in effects else []
    open_ended = Effects.OPEN_ENDED in effects
    return Footprint(tuple(touches), open_ended) if touches or open_ended else NOTHING


def find_excess(effects: Effects, footprint: Footprint) -> str | None:
    """Why a footprint exceeds the declared effects; None if it does not."""
    if Effects.OPEN_ENDED in effects:
        return None
    if footprint.open_ended:
        return "it is open-ended"
    if footprint.command is not None:
        return "it runs a command"
    for key, access in footprint.touches:
        if not _needed(key, access) & effects:
            return f"it touches {key!r} ({access.value})"
    return None


def _needed(key: str, access: Access) -> Effects:
    """The effects of which a tool must declare at least one for a touch."""
    kind = key.partition(":")[0]
    if kind in ("file", "tree"):
        return _PATHS if access is Access.READ else Effects.WRITES_PATHS
    if kind in ("session", "job", "agent"):
        return Effects.SESSION
    return Effects.NETWORK if kind == "net" else Effects.OPEN_ENDED
