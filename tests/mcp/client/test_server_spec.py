"""The confinement and the fingerprint of the program of a server."""

import os

import pytest

from handrail.core.problems import ProblemRaised
from handrail.mcp.client.server_spec import (
    RemoteServerSpec,
    ServerPlaces,
    find_server_program,
    launch_directory,
    names_workspace,
    server_confinement,
)


@pytest.fixture
def work(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    (work / "server.py").write_text("code")
    (work / "~x").write_text("")
    return work


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside" / "bin"
    folder.mkdir(parents=True)
    for name in ("tool", "python3"):
        (folder / name).write_text("binary")
    (folder / "data.txt").write_text("data")
    return folder


def spec(*command, **more):
    return RemoteServerSpec("s", ("tool", *command), **more)


def test_which_tools_are_declared():
    assert RemoteServerSpec("s", declared=("get_*", "x")).declares("get_a")
    assert RemoteServerSpec("s", declared=("get_*", "x")).declares("x")
    assert not RemoteServerSpec("s", declared=("get_*",)).declares("set_a")
    assert not RemoteServerSpec("s").declares("a")


def test_the_approval_of_a_project_is_its_own():
    one, two = (RemoteServerSpec("s", project=place).pin_name for place in ("/a", "/b"))

    assert RemoteServerSpec("s").pin_name == "s"
    assert one != two
    assert one.startswith("s@")
    assert len(one) == 18


@pytest.mark.parametrize(
    "words",
    [
        ["{work}"],
        ["{work}/server.py"],
        ["--file={work}/server.py"],
        ["-f{work}/server.py"],
        ["/x:{work}"],
        ["sh", "-c", "run {work}/server.py; x"],
        ["server.py"],
        ["--file=server.py"],
        ["-fserver.py"],
        ["$HERE/server.py"],
        ["{link}/server.py"],
    ],
)
def test_an_argument_that_leads_into_the_workspace_is_found(
    work, outside, tmp_path, monkeypatch, words
):
    monkeypatch.setenv("HERE", str(work))
    (tmp_path / "link").symlink_to(work)
    given = [one.format(work=work, link=tmp_path / "link") for one in words]

    assert names_workspace(spec(*given), str(outside / "tool"), [str(work)])


@pytest.mark.parametrize(
    "words", [[], ["{work}er"], ["missing.py"], ["/etc/hosts"], ["--x", "y=z"], ["-f"], ["~nobody"]]
)
def test_other_arguments_do_not_name_the_workspace(work, outside, words):
    given = [one.format(work=work) for one in words]

    assert not names_workspace(spec(*given), str(outside / "tool"), [str(work)])


def test_the_environment_the_program_and_its_interpreter_count(work, outside):
    script = outside / "script"
    script.write_text(f"#!{work}/python -x\n")

    assert names_workspace(spec(env={"P": str(work)}), str(outside / "tool"), [str(work)])
    assert names_workspace(spec(), str(work / "server.py"), [str(work)])
    assert names_workspace(spec(), str(script), [str(work)])
    assert not names_workspace(spec(), str(outside / "missing"), [str(work)])


def test_a_server_of_the_user_is_not_confined(work, outside):
    places = ServerPlaces([str(work)], ("/run",), ("/hidden",))
    program = str(outside / "tool")

    free = server_confinement(spec(), program, places)
    bound = server_confinement(spec(project="/p"), program, places)
    inside = server_confinement(spec("server.py"), program, places)

    assert (free.off, free.network) == (True, True)
    assert (bound.off, bound.network) == (False, False)
    assert bound == inside
    assert bound.readable == (str(outside.parent),)
    assert launch_directory(spec(), program, places) == "/"
    assert launch_directory(spec("server.py"), program, places) == str(work)


def test_of_a_top_directory_or_the_home_only_the_program_is_readable(work, tmp_path, monkeypatch):
    places = ServerPlaces([str(work)])
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))

    def readable(program):
        return server_confinement(spec(project="/p"), program, places).readable

    assert readable("/usr/tool") == ("/usr/tool",)
    assert readable("/usr/bin/tool") == ("/usr/bin/tool",)
    assert readable("/opt/app/bin/tool") == ("/opt/app",)
    assert readable(str(home / "bin" / "tool")) == (str(home / "bin" / "tool"),)
    assert readable(str(home / "app" / "bin" / "tool")) == (str(home / "app"),)


def prints(work, program, *words, **more):
    return spec(*words, **more).fingerprint(str(program), ServerPlaces([str(work)]))


def test_the_fingerprint_follows_settings_and_code(work, outside):
    program, before = outside / "tool", prints(work, outside / "tool", "server.py")

    assert prints(work, program, "server.py") == before
    assert prints(work, program) != before
    assert prints(work, program, "server.py", env={"A": "1"}) != before
    assert prints(work, program, "server.py", env_from=("A",)) != before
    assert prints(work, program, "server.py", project="/p") != before
    assert prints(work, program, "server.py", call_s=5.0) == before
    (work / "server.py").write_text("other")
    changed = prints(work, program, "server.py")
    assert changed != before
    program.write_text("other")
    assert prints(work, program, "server.py") != changed
    assert spec().fingerprint(None, ServerPlaces([str(work)]))


@pytest.mark.parametrize(
    ("program", "name", "counts"),
    [
        ("tool", "data.txt", False),
        ("tool", "data.PY", True),
        ("tool", "run", True),
        ("python3", "data.txt", True),
    ],
)
def test_which_files_among_the_arguments_are_code(work, outside, program, name, counts):
    path = outside / name
    path.write_text("one")
    if name == "run":
        path.chmod(0o755)
    before = prints(work, outside / program, str(path))
    path.write_text("two")

    assert (prints(work, outside / program, str(path)) != before) is counts


def test_of_an_interpreter_only_the_first_file_is_code(work, outside):
    (outside / "first").write_text("one")
    before = prints(work, outside / "python3", str(outside / "first"), str(outside / "data.txt"))
    (outside / "data.txt").write_text("other")

    after = prints(work, outside / "python3", str(outside / "first"), str(outside / "data.txt"))
    assert after == before


def test_an_interpreter_inside_the_workspace_is_code(work, outside):
    script = outside / "script"
    (work / "python").write_text("one")
    script.write_text(f"#!{work}/python\n")
    before = prints(work, script)
    (work / "python").write_text("two")

    assert prints(work, script) != before


def test_the_program_of_a_server_is_found(outside):
    tool = str(outside / "tool")

    assert find_server_program(spec(), {"tool": tool}.get) == tool
    assert find_server_program(RemoteServerSpec("s", (tool,)), lambda _: None) == tool
    for command, found in [(("tool",), None), (("tool",), "/missing"), (("/missing",), tool)]:
        with pytest.raises(ProblemRaised) as raised:
            find_server_program(RemoteServerSpec("s", command), lambda _, found=found: found)
        assert raised.value.problem.code == "unavailable"
    assert os.path.exists(tool)
