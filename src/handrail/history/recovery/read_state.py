"""What a model knows of files after a crash cut a change off from its record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.core.context import ReadRecord
from handrail.core.places import Form
from handrail.core.ports.machine import Files
from handrail.core.ports.records import CallRecord
from handrail.history.undo.file_revert import read_current_file


def describe_reads(
    record: CallRecord, intent: Mapping[str, Any], files: Files, now_s: float
) -> dict[str, Any] | None:
    """The reads for the completion of a call whose changes have all happened: files that it
    wrote as a whole are known, of edited ones it is said what they became. None if the call
    noted nothing about that.
    """
    if "relies_on" not in intent:
        return None
    known: dict[str, Any] = {}
    edited: dict[str, Any] = {}
    for change in intent["changes"]:
        now = read_current_file(str(change["path"]), files)
        if change["after_hash"] is None:
            known[now.place.absolute] = None
        elif now.strange or now.form is not Form.FILE or now.seen is None:
            continue
        elif intent["relies_on"] == "all" or change["before_hash"] is None:
            seen = ReadRecord(now_s, 1, 0, now.seen, True, change["after_hash"])
            known[now.place.absolute] = seen
        else:
            edited[now.place.absolute] = [change["before_hash"], now.seen, change["after_hash"]]
    agent = record.requested.get("agent", "main")
    return {"agent": agent, "files": known, "edited": edited}
