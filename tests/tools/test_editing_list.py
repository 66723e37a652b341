"""Two lists of calls with mistakes that models make and with the bytes that are right after each:
`calls` is made from this package's own files, `slips` from files in two dozen languages. Both were
written before the code that reads such calls was looked at.

`tests/data/edits/*.jsonl.xz`: the first line has the texts of files, in which a character is a
byte; each other line is a call. `expect` is `apply`, `refuse`, or `either`: it may be refused, but
if it is made, then as `after` says. `after` has the files that change, each as how many bytes stay
before and behind, and what is between them; null is a file that is gone.
"""

import json
import lzma
from collections import Counter
from pathlib import Path

import pytest
from tests.tools.editing_cases.judging import left_in, put

import handrail.sync
from handrail.core.ports.workers import WorkerAnswer, WorkerFailure
from handrail.host.syntax import treesitter

DATA = Path(__file__).parent.parent / "data/edits"
LISTS = ("calls", "slips")
GROUPS = {"edits": 600, "unified diffs": 250, "envelopes": 150}
PARTS = 30
SETTINGS = {"mode": "accept-edits", "freshness": "off", "loop_guard": "off"}


def read_list(name):
    path = DATA / f"{name}.jsonl.xz"
    lines = lzma.decompress(path.read_bytes()).decode().split("\n")
    texts, *rows = [json.loads(line) for line in lines]
    for row in rows:
        row["files"] = {path: texts[at].encode("latin-1") for path, at in row["files"].items()}
        row["after"] = [changed(row["files"], after) for after in row["after"]]
    return rows


def changed(files, after):
    """The files of a case after one of its right changes."""
    result = dict(files)
    for path, part in after.items():
        result.pop(path, None)
        if part is not None:
            data = files.get(path, b"")
            first, last, text = part
            result[path] = data[:first] + text.encode("latin-1") + data[len(data) - last :]
    return result


@pytest.fixture(scope="module")
def lists():
    return {name: read_list(name) for name in LISTS}


@pytest.fixture(autouse=True)
def no_grammars(monkeypatch):
    """As without the extra `syntax`: each of 2,000 calls would start a process, and what it finds
    is only a note that follows the change.
    """

    async def unsupported(task):
        return WorkerAnswer(b"", WorkerFailure.UNSUPPORTED)

    monkeypatch.setattr(treesitter, "run_python_worker", unsupported)


def judge(row, left):
    """What is wrong with the files that are left; None if nothing is."""
    if left == row["files"]:
        return "missed" if row["expect"] == "apply" else None
    if row["expect"] != "refuse" and left in row["after"]:
        return None
    return "wrong"


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_long_enough(lists, name):
    rows = lists[name]
    counts = Counter(row["group"] for row in rows)
    assert all(counts[group] >= least for group, least in GROUPS.items())
    assert len({row["name"] for row in rows}) == len(rows)


@pytest.mark.finding("F61")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", LISTS)
def test_a_call_is_made_to_the_byte_or_refused(lists, tmp_path, name, part):
    failed = []
    root = tmp_path / "work"
    root.mkdir()
    with handrail.sync.open(root, store=":memory:", allow_delete=True, config=SETTINGS) as rt:
        for row in lists[name][part::PARTS]:
            put(root, row["files"])
            result = rt.call("apply_patch" if "patch" in row["call"] else "edit_file", row["call"])
            left = left_in(root)
            verdict = judge(row, left)
            if verdict is None and result.ok == (left == row["files"]):
                verdict = "said otherwise"
            if verdict is not None:
                failed.append((row["name"], verdict, result.problem and result.problem.message))

    assert failed == []
    assert left_in(tmp_path).keys() == {f"work/{path}" for path in left_in(root)}
