"""Patches give the exact bytes, whatever the files hold."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.core.places import Form
from handrail.core.text.content import Content
from handrail.history.call_diffs import NetChange
from handrail.scale.patches import patch_obstacle, patch_parts

TEXTS = st.lists(
    st.sampled_from([b"a\n", b"b\n", b"\r\n", b"\xff\x85x\n", b"\n", b" \t\n", b"a"]), max_size=12
).map(b"".join)


def apply(tmp_path, name, before, after):
    """Apply the patch from one content to the other; returns what the file holds then."""
    root = tmp_path / "tree"
    root.mkdir(exist_ok=True)
    path = root / name
    path.unlink(missing_ok=True)
    contents = [None if data is None else Content(data) for data in (before, after)]
    if before is not None:
        path.write_bytes(before)
    patch = b"".join(patch_parts([NetChange(name, "modified", *contents)]))
    if patch:
        command = ["git", "apply", "--whitespace=nowarn", "-"]
        subprocess.run(command, cwd=root, input=patch, check=True, timeout=30)
    return path.read_bytes() if path.exists() else None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, b"new\n"),
        (None, b"no end"),
        (None, b""),
        (b"gone\n", None),
        (b"gone", None),
        (b"", None),
        (b"a\nb\nc\n", b"a\nB\nc"),
        (b"a\x0bb\x85\n", b"a\x0cb\n"),
        (b"x\r\ny\r\n", b"x\r\nz\r\n"),
        (b"l\n" * 11_000, b"m\n" * 11_000),
    ],
)
def test_a_patch_gives_the_other_content(before, after, tmp_path):
    assert apply(tmp_path, "f", before, after) == after


@pytest.mark.parametrize("name", ["with space", 'quo"te', "back\\slash", "tab\t", "line\nend", "ü"])
def test_names_are_written_as_git_writes_them(name, tmp_path):
    assert apply(tmp_path, name, b"1\n", b"2\n") == b"2\n"


@settings(max_examples=25)
@given(TEXTS, TEXTS)
def test_any_text_is_patched(tmp_path_factory, before, after):
    assert apply(tmp_path_factory.mktemp("any"), "f", before, after) == after


def test_what_no_patch_can_hold_is_named():
    binary = NetChange("f", "created", None, Content(b"\0"))
    large = NetChange("f", "created", None, Content(b"x" * (5 << 20)))

    assert patch_obstacle(binary) == "binary"
    assert patch_obstacle(large) is not None
    assert list(patch_parts([binary, large])) == []


@pytest.mark.parametrize(
    ("change", "head"),
    [
        ({"before_mode": 0o600, "after_mode": 0o644}, b""),
        ({"before_mode": 0o644, "after_mode": 0o744}, b"old mode 100644\nnew mode 100755\n"),
        ({"before_mode": None, "after_mode": 0o755}, b""),
        ({"before": None, "after_mode": 0o700}, b"new file mode 100755\n"),
        ({"before": None, "after_form": Form.LINK}, b"new file mode 120000\n"),
        ({"after": None, "before_form": Form.LINK}, b"deleted file mode 120000\n"),
        ({"after": None, "before_mode": 0o755}, b"deleted file mode 100755\n"),
        (
            {"before_form": Form.LINK, "after_mode": 0o644},
            b"deleted file mode 120000\nnew file mode 100644\n",
        ),
    ],
)
def test_modes_and_links_are_written_as_git_writes_them(change, head):
    same = NetChange("f", "modified", Content(b"x\n"), Content(b"x\n"))
    lines = b"".join(patch_parts([same._replace(**change)])).splitlines(keepends=True)

    assert b"".join(line for line in lines if b"mode" in line) == head


def test_a_folder_is_in_no_patch():
    folder = NetChange("f", "created", None, Content(b""), after_form=Form.FOLDER)

    assert patch_obstacle(folder) == "a folder"
    assert list(patch_parts([folder])) == []
