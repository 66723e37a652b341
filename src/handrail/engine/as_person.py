"""What a person asks for themselves: the arguments of an undo or redo from what they named."""

from __future__ import annotations

from typing import Any


def undo_arguments(
    session: str,
    call: str | None,
    *,
    turn: str | int | None = None,
    path: str | None = None,
    since: str | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """The arguments of the tool `undo`; raises TypeError if more than one thing is named.

    A turn given as a number is one of `session`: other sessions count theirs alike.
    """
    own = f"{session}:{turn}" if isinstance(turn, int) else turn
    named = {"call": call, "turn": own, "path": path, "since": since}
    given = {scope: target for scope, target in named.items() if target is not None}
    if len(given) > 1:
        raise TypeError(f"name one of {', '.join(given)}, not {len(given)}")
    # As short as it was asked, since the record shows it.
    arguments: dict[str, Any] = {"target": "last"}
    for scope, target in given.items():
        arguments = {"target": target} if scope == "call" else {"scope": scope, "target": target}
    return {**arguments, "force": True} if force else arguments
