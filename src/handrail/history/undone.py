"""Whether what one call changed was taken back since, asked of the record."""

from __future__ import annotations

from typing import Final

from handrail.core.records import Store
from handrail.history.past import Key, Standing, key_of, steps_of

_PAGE: Final = 200


async def undone_since(store: Store, session: str, call_id: str) -> list[str]:
    """The files of the call that were taken back; looks no further back than to the call."""
    wanted, standing, before = Key(session, call_id), Standing(), None
    while page := await store.traces(before=before, limit=_PAGE):
        for trace in page:
            standing.meet(trace)
            if key_of(trace) == wanted:
                paths = [step.path for step in steps_of(trace)]
                return [path for path in paths if not standing.stands(wanted, path)]
        before = page[-1].row
    return []
