"""The path corpus against the file layer; protected names are the policy's and not shown here."""

import pytest
from tests.support.layout import build_layout, corpus

from handrail.core.places import Kind
from handrail.core.plan import Change
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.host.files.local_files import LocalFiles

ESCAPES = [
    row
    for row in corpus("paths_escape.jsonl", "path", "search_path", "cwd", "archive_member")
    # "link->" tells a story about an archive, it is not a path.
    if row["category"] != "protected" and not row["path"].startswith("link->")
]
GOOD = corpus("paths_ok.jsonl")


def ids(rows):
    return [row["id"] for row in rows]


@pytest.fixture
def layout(tmp_path):
    return build_layout(tmp_path)


@pytest.fixture
def files(layout, opener):
    files = LocalFiles([layout.work])
    yield files
    files.close()


def act(files, row, path):
    """What a tool for this row would do; returns what it got to see."""
    place = files.locate(path)
    if row["op"] == "list" or row["channel"] in ("search_path", "cwd"):
        return repr(files.scan(place))
    if row["op"] == "read":
        return repr(files.window(place, 1, 100))
    before = files.read(place) if place.kind is not Kind.MISSING else None
    change = Change(
        place,
        before.content if before else None,
        None if row["op"] == "delete" else Content(b"written\n"),
        before.stat if before else None,
    )
    staged = files.stage(change, durable=False)
    try:
        staged.publish()
    finally:
        staged.discard()
    return ""


@pytest.mark.parametrize("row", ESCAPES, ids=ids(ESCAPES))
def test_no_path_leads_out(layout, files, row):
    before = layout.outside()

    try:
        seen = act(files, row, layout.path_of(row))
    except ProblemRaised as raised:
        seen = str(raised.problem)
        refused = True
    else:
        refused = False

    assert layout.outside() == before
    assert "SECRET" not in seen.replace(layout.path_of(row), "")
    assert "KEY" not in seen
    if row["expect"] == "deny":
        assert refused


@pytest.mark.parametrize("row", GOOD, ids=ids(GOOD))
def test_every_legitimate_path_works(layout, files, row):
    before = layout.outside()
    path = layout.path_of(row)

    act(files, row, path)

    assert layout.outside() == before
    if row["op"] == "write":
        assert files.read(files.locate(path)).content.tobytes() == b"written\n"


def test_the_corpus_is_all_there():
    assert len(ESCAPES) > 60
    assert len(GOOD) == 19


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("l_in", "src/main.py"),
        ("l_abs_in/main.py", "src/main.py"),
        ("l_in_dir/l_back_in/guide.md", "docs/guide.md"),
        ("docs/../src/./main.py", "src/main.py"),
        ("l_in_dir/../docs/guide.md", "docs/guide.md"),
        ("../work/src/main.py", "src/main.py"),
        ("l_dangling_in", "src/not_yet.txt"),
        (".", ""),
        ("src/..", ""),
        ("src/", "src"),
    ],
)
def test_every_spelling_of_a_file_is_one_place(layout, files, path, canonical):
    place = files.locate(path)

    assert place.rel == canonical
    assert place._replace(via=()) == files.locate(str(layout.work / canonical))
