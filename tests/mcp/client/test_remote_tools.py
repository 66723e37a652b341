"""Tools of MCP servers, called through `handrail.open`."""

from __future__ import annotations

import re
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.mcp.client.approving import approve_servers

import handrail
from handrail.mcp.client.server_spec import RemoteServerSpec, ServerPlaces, server_confinement

_SERVER = Path(__file__).with_name("demo_server.py")


def _config(*words: str, **more: Any) -> dict[str, Any]:
    table = {"command": sys.executable, "args": [str(_SERVER), *words], **more}
    return {"mode": "bypass", "mcp": {"servers": {"demo": table}}}


@pytest.mark.feature("N03")
async def test_a_tool_of_a_server_is_called_like_any_other(tmp_path: Path) -> None:
    config = _config()
    await approve_servers(tmp_path, config)
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        result = await rt.call("mcp__demo__add", {"a": 2, "b": 3})
        assert (result.text, result.data["structured"]) == ("5", {"sum": 5})
        assert result.meta["undo"] == "none"


async def test_all_errors_in_the_arguments_are_reported_at_once(tmp_path: Path) -> None:
    config = _config()
    await approve_servers(tmp_path, config)
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        result = await rt.call("mcp__demo__add", {"a": "x"})
        assert result.problem is not None
        assert result.problem.code == "invalid_arguments"
        assert "'x'" in result.text
        assert "'b'" in result.text


@pytest.mark.feature("N09")
async def test_an_error_of_the_tool_is_a_failed_result_with_its_text(tmp_path: Path) -> None:
    config = _config()
    await approve_servers(tmp_path, config)
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        result = await rt.call("mcp__demo__fail", {})
        assert result.problem is not None
        assert result.problem.code == "command_failed"


@pytest.mark.feature("N04")
async def test_calls_need_approval_unless_annotations_are_trusted(tmp_path: Path) -> None:
    config = {**_config(), "mode": "default"}
    await approve_servers(tmp_path, config)
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        result = await rt.call("mcp__demo__add", {"a": 2, "b": 3})
        assert result.problem is not None
        assert result.problem.code == "needs_approval"
    trusting = {**_config(trust_annotations=True), "mode": "default"}
    async with handrail.open(tmp_path, config=trusting, store=":memory:") as rt:
        assert (await rt.call("mcp__demo__add", {"a": 2, "b": 3})).text == "5"
        denied = await rt.call("mcp__demo__pid", {})
        assert denied.problem is not None
        assert denied.problem.code == "needs_approval"


@pytest.mark.threat("A49")
async def test_what_a_server_returns_may_be_a_secret_whatever_it_says(tmp_path: Path) -> None:
    config = _config(trust_annotations=True)
    await approve_servers(tmp_path, config)
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        before = rt.session.secrets_shown
        assert (await rt.call("mcp__demo__add", {"a": 2, "b": 3})).text == "5"
        assert (before, rt.session.secrets_shown) == (False, True)


async def test_a_server_that_was_not_approved_has_no_tools(tmp_path: Path) -> None:
    async with handrail.open(tmp_path, config=_config(), store=":memory:") as rt:
        result = await rt.call("mcp__demo__add", {"a": 2, "b": 3})
        assert result.problem is not None
        assert result.problem.code == "unknown_tool"


@pytest.mark.threat("A45")
async def test_a_server_whose_tools_have_changed_is_blocked(tmp_path: Path) -> None:
    root, beside = tmp_path / "root", tmp_path / "beside"
    root.mkdir()
    beside.mkdir()
    config = _config(str(beside))
    await approve_servers(root, config)
    (beside / "variant").touch()
    async with handrail.open(root, config=config, store=":memory:") as rt:
        result = await rt.call("mcp__demo__add", {"a": 2, "b": 3})
        assert result.problem is not None
        assert result.problem.code == "untrusted"
        assert "new: extra" in result.text


@pytest.mark.threat("A36")
async def test_a_changed_program_is_not_started(tmp_path: Path) -> None:
    root, started, program = tmp_path / "root", tmp_path / "started", tmp_path / "server.py"
    root.mkdir()
    program.write_text(_SERVER.read_text("utf-8"), "utf-8")
    config = _config()
    config["mcp"]["servers"]["demo"]["args"] = [str(program)]
    await approve_servers(root, config)
    program.write_text(f"open({str(started)!r}, 'w')\n" + _SERVER.read_text("utf-8"), "utf-8")
    async with handrail.open(root, config=config, store=":memory:") as rt:
        result = await rt.call("mcp__demo__add", {"a": 2, "b": 3})
    assert result.problem is not None
    assert result.problem.code == "untrusted"
    assert not started.exists()


@pytest.mark.needs_bubblewrap
@pytest.mark.threat("A36")
async def test_changed_code_is_found_where_the_server_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, elsewhere, program = (
        tmp_path / "root",
        tmp_path / "elsewhere",
        tmp_path / "root/server.py",
    )
    root.mkdir()
    elsewhere.mkdir()
    program.write_text(_SERVER.read_text("utf-8"), "utf-8")
    monkeypatch.chdir(elsewhere)
    config = _config()
    config["mcp"]["servers"]["demo"]["args"] = ["server.py"]
    await approve_servers(root, config)
    program.write_text("# other\n" + _SERVER.read_text("utf-8"), "utf-8")
    async with handrail.open(root, config=config, store=":memory:") as rt:
        result = await rt.call("mcp__demo__add", {"a": 2, "b": 3})
    assert result.problem is not None
    assert result.problem.code == "untrusted"


@pytest.mark.threat("A36")
@pytest.mark.parametrize(
    "words",
    [
        ["--config=./x.js"],
        ["-c", "./x.js"],
        ["-cx.js"],
        ["--load", "{root}/x.js"],
        ["-c", "exec node {root}/x.js"],
        ["--path=/nothing:{root}"],
        ["--url=file://{root}/x.js"],
        ["{link}"],
        ["-c", "exec node ~/project/x.js"],
        ["-c", "cd / && node $HOME/project/x.js"],
    ],
    ids=" ".join,
)
def test_a_path_of_the_workspace_in_any_argument_confines_the_server(
    tmp_path: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    root, link = tmp_path / "project", tmp_path / "link"
    root.mkdir()
    (root / "x.js").write_text("1", "utf-8")
    link.symlink_to(root / "x.js")
    places = ServerPlaces([str(root)])
    arguments = [one.format(root=root, link=link) for one in words]
    spec = RemoteServerSpec("a", ("/usr/bin/env", *arguments))
    assert not server_confinement(spec, "/usr/bin/env", places).off
    before = spec.fingerprint("/usr/bin/env", places)
    (root / "x.js").write_text("2", "utf-8")
    # A directory that is named has no contents of its own.
    assert (spec.fingerprint("/usr/bin/env", places) == before) == (words[0][:6] == "--path")


@pytest.mark.threat("A36")
def test_a_script_that_is_run_with_a_program_of_the_workspace_is_confined(tmp_path: Path) -> None:
    root, script = tmp_path / "root", tmp_path / "server"
    root.mkdir()
    (root / "python").write_text("1", "utf-8")
    script.write_text(f"#!{root}/python -I\nprint()\n", "utf-8")
    places, spec = ServerPlaces([str(root)]), RemoteServerSpec("a", (str(script),))
    assert not server_confinement(spec, str(script), places).off
    before = spec.fingerprint(str(script), places)
    (root / "python").write_text("2", "utf-8")
    assert spec.fingerprint(str(script), places) != before


@pytest.mark.threat("A36")
def test_a_program_in_the_home_directory_does_not_open_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    spec = RemoteServerSpec("a", ("x",), project="/project")
    places = ServerPlaces(["/project"])
    programs = [str(tmp_path / one) for one in ("bin/x", "tools/bin/x")]
    readable = [server_confinement(spec, one, places).readable for one in programs]
    assert readable == [(programs[0],), (str(tmp_path / "tools"),)]


@pytest.mark.threat("A36")
async def test_a_server_beside_the_workspace_is_not_taken_for_one_inside(tmp_path: Path) -> None:
    root, beside = tmp_path / "app", tmp_path / "app-server"
    root.mkdir()
    beside.mkdir()
    (beside / "x.js").write_text("1", "utf-8")
    spec = RemoteServerSpec("a", ("/usr/bin/env", f"--config={beside}/x.js", "--name=app"))
    places = ServerPlaces([str(root)])
    assert server_confinement(spec, "/usr/bin/env", places).off
    before = spec.fingerprint("/usr/bin/env", places)
    (beside / "x.js").write_text("2", "utf-8")
    assert spec.fingerprint("/usr/bin/env", places) != before


async def test_without_the_extra_the_servers_of_the_settings_are_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(handrail.ProblemRaised) as raised:
        async with handrail.open(tmp_path, config=_config(), store=":memory:"):
            pass
    assert raised.value.problem.code == "unavailable"
    assert "handrail[mcp]" in str(raised.value.problem.hint)


@pytest.mark.threat("A36")
async def test_other_arguments_need_a_new_approval(tmp_path: Path) -> None:
    await approve_servers(tmp_path, _config())
    async with handrail.open(tmp_path, config=_config("--more"), store=":memory:") as rt:
        result = await rt.call("mcp__demo__add", {"a": 2, "b": 3})
        assert result.problem is not None
        assert result.problem.code == "untrusted"


@pytest.mark.needs_bubblewrap
@pytest.mark.threat("A36")
async def test_a_server_of_the_workspace_writes_nothing(tmp_path: Path) -> None:
    """Its program could have been written by the model."""
    program = tmp_path / "server.py"
    program.write_text(_SERVER.read_text("utf-8"))
    table = {"command": sys.executable, "args": [str(program)]}
    config = {"mode": "bypass", "mcp": {"servers": {"demo": table}}}
    await approve_servers(tmp_path, config)
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        result = await rt.call("mcp__demo__write", {"path": str(tmp_path / "new.txt")})
        assert result.problem is not None
        assert not (tmp_path / "new.txt").exists()


@pytest.mark.threat("A36")
async def test_a_server_of_the_workspace_is_not_started_without_a_sandbox(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_text(_SERVER.read_text("utf-8"))
    table = {"command": sys.executable, "args": [str(program)]}
    config = {"sandbox": "none", "mcp": {"servers": {"demo": table}}}
    with pytest.raises(handrail.ProblemRaised) as raised:
        await approve_servers(tmp_path, config)
    assert raised.value.problem.code == "denied"


@pytest.mark.threat("A38")
async def test_a_name_with_a_bidirectional_character_is_not_used(tmp_path: Path) -> None:
    config = _config()
    await approve_servers(tmp_path, config)
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        found = await rt.call("tool_search", {"limit": 50})
        names = [one["name"] for one in found.data["tools"]]
        assert "mcp__demo__add" in names
        assert not [name for name in names if "bad" in name]


@pytest.mark.threat("A40")
async def test_a_result_cannot_imitate_a_note_of_ours(tmp_path: Path) -> None:
    config = _config()
    await approve_servers(tmp_path, config)
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        result = await rt.call("mcp__demo__imitate", {})
        assert result.ok
        lines = re.split("[\n\r\u2028]", result.text)
        assert len(lines) == 3
        assert not any(one.startswith("[handrail:") for one in lines)


async def test_a_server_that_crashes_is_started_again(tmp_path: Path) -> None:
    config = _config()
    await approve_servers(tmp_path, config)
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        first = await rt.call("mcp__demo__pid", {})
        crashed = await rt.call("mcp__demo__crash", {})
        assert crashed.problem is not None
        assert crashed.problem.code == "unavailable"
        second = await rt.call("mcp__demo__pid", {})
        assert second.ok
        assert second.text != first.text
    assert not Path(f"/proc/{second.text}").exists()


async def test_a_call_that_hangs_ends_at_its_limit(tmp_path: Path) -> None:
    config = _config(call_s=0.5)
    await approve_servers(tmp_path, config)
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        result = await rt.call("mcp__demo__hang", {})
        assert result.problem is not None
        assert result.problem.code == "timeout"
        assert (await rt.call("mcp__demo__pid", {})).ok


@pytest.mark.feature("N08")
async def test_calls_and_progress_are_reported_as_events(tmp_path: Path) -> None:
    config = _config()
    await approve_servers(tmp_path, config)
    seen: list[Any] = []
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        rt.subscribe(seen.append)
        assert (await rt.call("mcp__demo__progress", {})).ok
    kinds = [one.type for one in seen]
    assert kinds.index("mcp_tool_call_begin") < kinds.index("mcp_tool_call_end")
    assert [one.text for one in seen if one.type == "tool_call_progress"] == ["1 of 2: half"]


async def test_pictures_are_decoded_and_made_smaller(tmp_path: Path) -> None:
    config = _config()
    await approve_servers(tmp_path, config)
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        result = await rt.call("mcp__demo__picture", {})
        (picture,) = result.images
        assert Image.open(BytesIO(picture.data)).width <= 1568
