import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.cli.commands.setup.demo import BATCH, FILES, STEPS

SCRIPTS = Path(sys.executable).parent


@pytest.fixture
def demo(handrail, tmp_path):
    """A demo that has run, and its project."""
    folder = tmp_path / "demo"
    return handrail("demo", "--dir", folder), folder


def test_the_bug_is_fixed_and_the_change_taken_back_leaves_no_trace(demo):
    done, folder = demo

    assert done.code == 0
    fixed = FILES["shop/cart.py"].replace("/ 10", "/ 100")
    found = {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert found == {**FILES, "shop/cart.py": fixed}


def test_the_escape_the_protected_name_and_the_ambiguous_edit_are_refused(handrail, tmp_path):
    results = handrail("demo", "--json", "--dir", tmp_path / "demo").lines

    codes = [one["problem"]["code"] for one in results if one["problem"]]
    assert codes == ["ambiguous", "outside_workspace", "protected"]
    assert len(results) == len(STEPS) + len(BATCH) + 1


def test_a_reader_sees_the_calls_the_diff_the_order_and_the_record(demo):
    done, folder = demo

    assert "a scripted session" in done.out
    for words in (
        "find_files pattern='*.py'",
        "grep pattern=discount output_mode=content",
        "+    return amount - amount * discount / 100",
        "refused: outside_workspace",
        "refused: protected",
        "failed: ambiguous",
        "read report  after edit report",
        "read cart    at once",
        "undid edit_file",
        '+    print("-" * 20)',
        "intact: ",
        f"handrail -w {folder} log",
        "The edit shows its diff and asks first",
    ):
        assert words in done.out


def test_the_record_can_be_looked_at_afterwards(demo, handrail):
    _, folder = demo

    assert len(handrail("-w", folder, "log", "--json").lines) == len(STEPS) + len(BATCH) + 1
    assert handrail("-w", folder, "verify").code == 0
    assert handrail("-w", folder, "call", "read_file", "path=shop/cart.py").code == 0


def test_undo_is_what_a_reader_is_told_to_try_last(demo, handrail):
    done, folder = demo

    proposed = [line.strip() for line in done.out.splitlines() if line.startswith("  ")]
    assert proposed[-1].endswith(" undo")
    assert handrail("-w", folder, "undo").code == 0
    assert (folder / "shop/cart.py").read_text() == FILES["shop/cart.py"]


def test_lines_fit_eighty_columns(handrail, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PATH", str(SCRIPTS))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d").mkdir()

    out = handrail("demo", "--dir", "d").out

    prose = [line for line in out.splitlines() if str(tmp_path) not in line]
    assert [line for line in prose if len(line) > 80] == []


def test_a_new_directory_is_made_if_none_is_named(handrail, tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    handrail("demo")

    made = list(tmp_path.glob("handrail-demo-*"))
    assert len(made) == 1
    assert Path(made[0], "shop/cart.py").is_file()


def test_a_directory_with_something_in_it_is_left_alone(handrail, workspace):
    done = handrail("demo", "--dir", workspace)

    assert done.code == 2
    assert "is not empty" in done.err
    assert [path.name for path in workspace.iterdir()] == ["a.txt"]


def test_the_demo_is_the_same_whatever_the_settings_are(handrail, own_home, tmp_path):
    file = own_home / "config" / "handrail" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('mode = "plan"\ndialect = "claude"\n')

    results = handrail("demo", "--json", "--dir", tmp_path / "demo").lines

    assert [one["status"] for one in results].count("ok") == 9


@pytest.mark.parametrize("elsewhere", ["", "another"])
def test_what_is_proposed_works_where_the_program_is_not_on_the_path(
    handrail, tmp_path, monkeypatch, elsewhere
):
    other = tmp_path / "another"
    other.mkdir()
    (other / "handrail").write_text("#!/bin/sh\nexit 7\n")
    (other / "handrail").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / elsewhere if elsewhere else ''}:/usr/bin:/bin")

    out = handrail("demo", "--dir", tmp_path / "demo").out
    _, after = out.split("Try it yourself in this project:\n")
    lines = [line.strip() for line in after.splitlines() if line.startswith("  ")]
    last = after.splitlines()[-1].removeprefix("From any directory: ")

    activate = SCRIPTS / "activate"
    if activate.is_file():
        assert lines[0] == f". {shlex.quote(str(activate))}"
    # The edit asks, and here is nobody who could answer.
    unasked = [line for line in lines if "edit_file" not in line]
    script = "\n".join(["set -e", *unasked, last])
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_is_proposed_is_plain_where_the_program_is_on_the_path(
    handrail, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", str(SCRIPTS))

    out = handrail("demo", "--dir", tmp_path / "demo").out

    assert "activate" not in out
    assert f"From any directory: handrail -w {tmp_path}/demo log\n" in out
