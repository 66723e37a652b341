import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.cli.commands.setup import demo
from handrail.cli.commands.setup.demo import FILES, load_demo_script
from handrail.models.scripted.streams import ScriptedMessage

SCRIPTS = Path(sys.executable).parent
ROOT = Path(__file__).resolve().parents[4]
PAUSES_S = 8.0
# The search path without this installation.
OTHERS = ":".join(one for one in os.environ["PATH"].split(":") if Path(one) != SCRIPTS)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What a demo prints in a pipe, and its project."""
    base = tmp_path_factory.mktemp("demo")
    environment = {
        "PATH": f"{SCRIPTS}:{OTHERS}",
        "HOME": str(base),
        "COLUMNS": "80",
        "LANG": "C.UTF-8",
    }
    done = subprocess.run(
        [SCRIPTS / "handrail", "demo", "--dir", base / "p"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout, base / "p", environment


def test_every_file_has_its_first_content_after_the_undo(shown):
    out, folder, _ = shown

    found = {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert found == FILES
    assert "its first content again" in out


def test_calls_that_read_begin_while_the_message_is_streamed(shown):
    out, _, _ = shown

    early = re.search(r"(\d) of these 4 calls began while the message was", out)
    assert early is not None
    assert 1 <= int(early[1]) <= 3


def test_it_shows_a_failing_test_a_refusal_a_question_evidence_and_a_receipt(shown):
    out, _, _ = shown

    order = [
        out.index(text)
        for text in (
            "no network, no key",
            "• grep(",
            "FAILED (failures=1)",
            "refused, blocked: ",
            "? asked: edit_file, ",
            "answered by the script, not by a user: yes",
            "Ran 2 tests",
            "│ Fixed: ",
            "changed   shop/cart.py, tests/test_cart.py",
            "verified  python3 -B -m unittest -q passed",
            "$ handrail undo --since",
            "intact: ",
            "Type next:",
        )
    ]
    assert order == sorted(order)


def test_a_machine_without_a_sandbox_asks_before_commands_and_says_so(
    handrail, tmp_path, monkeypatch
):
    monkeypatch.setattr(demo, "_SETTINGS", {**demo._SETTINGS, "sandbox": "none"})

    done = handrail("demo", "--dir", tmp_path / "demo")

    assert done.code == 0
    assert "no sandbox for commands" in done.out
    assert done.out.count("? asked: run_command") == 2


def test_its_own_pauses_are_short():
    messages = [
        one for one in load_demo_script().blocks[0].entries if isinstance(one, ScriptedMessage)
    ]

    assert 1 < sum(one.delay_s + one.stream_s for one in messages) <= PAUSES_S


def test_the_recording_in_the_readme_is_current():
    spec = importlib.util.spec_from_file_location("record_demo", ROOT / "scripts/record_demo.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    recorded = script.BLOCK.search((ROOT / "README.md").read_text(encoding="utf-8"))

    assert recorded is not None
    assert script.record_demo() == recorded[0]


def test_the_script_calls_are_refused_asked_and_recorded_for_real(handrail, tmp_path):
    *events, result, undone = handrail("demo", "--json", "--dir", tmp_path / "demo").lines

    ends = [one for one in events if one["type"] == "tool_call_end"]
    assert [one["code"] for one in ends if one["code"]] == ["command_failed", "blocked"]
    assert result["status"] == "done"
    assert result["verified"] is True
    assert undone["status"] == "ok"
    assert handrail("-w", tmp_path / "demo", "verify").code == 0


def test_lines_fit_eighty_columns(shown):
    out, folder, _ = shown

    prose = [line for line in out.splitlines() if str(folder.parent) not in line]
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

    done = handrail("demo", "--json", "--dir", tmp_path / "demo")

    assert done.lines[-2]["status"] == "done"


@pytest.mark.parametrize("on_path", [True, False])
def test_what_is_proposed_works(shown, tmp_path, on_path):
    out, _, environment = shown
    if not on_path:
        environment = {**environment, "PATH": OTHERS}
        again = subprocess.run(
            [SCRIPTS / "handrail", "demo", "--dir", tmp_path / "p"],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        out = again.stdout
    _, after = out.split("Type next:\n")
    lines = [line.partition("  # ")[0].strip() for line in after.splitlines()]
    activate = SCRIPTS / "activate"
    if not on_path and activate.is_file():
        assert lines[0] == f". {shlex.quote(str(activate))}"
    assert ("activate" in after) is not on_path
    # A model and a terminal are needed for the others.
    unattended = [line for line in lines if " run " not in line and "config init" not in line]
    done = subprocess.run(
        ["bash", "-c", "\n".join(["set -e", *unattended])],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
