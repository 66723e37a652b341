"""Since when: the times that a person may name."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

_AGO: Final = re.compile(r"(\d{1,6})\s*(s|m|h|d)(?:\s+ago)?")
_CLOCK: Final = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_time(text: str, now_ns: int) -> int | None:
    """A moment in nanoseconds: `2026-03-01`, `2026-03-01T14:30`, `14:30` (today), `20m` (ago);
    in the time zone of this machine unless it names one. None if it is none of these.
    """
    now = datetime.fromtimestamp(now_ns / 1e9).astimezone()
    try:
        moment = _moment(text.strip(), now).astimezone()
        return int(moment.timestamp()) * 1_000_000_000 + moment.microsecond * 1000
    except (ValueError, OverflowError):
        return None


def _moment(given: str, now: datetime) -> datetime:
    ago = _AGO.fullmatch(given)
    if ago is not None:
        return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    if _CLOCK.fullmatch(given):
        given = f"{now.date().isoformat()}T{given.zfill(8 if given.count(':') > 1 else 5)}"
    return datetime.fromisoformat(given)
