"""Agents that settings and files define, and their prompt files."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from handrail.assembly.extras.agent_definitions import (
    agent_trust,
    find_agents,
    has_definitions,
    read_at_once,
    read_tables,
    trust_agent,
)
from handrail.config.layers.sources import Layer
from handrail.core.problems import ProblemRaised
from handrail.host.state.directories import config_home


@pytest.fixture
def root(tmp_path):
    (tmp_path / "w").mkdir()
    return tmp_path / "w"


def loaded(agents=None, **sources):
    return SimpleNamespace(settings=SimpleNamespace(agents=agents or {}), sources=sources)


@pytest.mark.parametrize("given", [None, 1, 100])
def test_how_many_agents_work_at_once(given):
    assert read_at_once({} if given is None else {"at_once": given}) == given


@pytest.mark.parametrize("given", [0, 101, -1, True, 1.0, "2"])
def test_other_numbers_at_once_are_refused(given):
    with pytest.raises(ProblemRaised) as raised:
        read_at_once({"at_once": given})

    assert raised.value.problem.code == "invalid_arguments"


def test_whether_agents_may_be_defined(root):
    assert not has_definitions(loaded(), root)
    assert not has_definitions(loaded({"main": {}, "default": {}, "at_once": 3}), root)
    assert has_definitions(loaded({"mine": {}}), root)
    (root / ".handrail" / "agents").mkdir(parents=True)
    assert has_definitions(loaded(), root)


def test_the_user_may_have_definitions(root):
    (config_home() / "agents").mkdir(parents=True)

    assert has_definitions(loaded(), root)


def test_tables_that_define_an_agent_are_read(root):
    tables = {
        "mine": {"description": "a", "prompt": "b"},
        "main": {"prompt": "x"},
        "default": {"mode": "plan"},
        "at_once": 3,
        "odd": "text",
        "Any Name": {"mode": "plan"},
    }

    (found,) = read_tables(loaded(tables), root)

    assert (found.name, found.description, found.prompt) == ("mine", "a", "b")


@pytest.mark.parametrize("source", [None, "config.toml:3"])
def test_an_invalid_table_names_its_place(root, source):
    places = {} if source is None else {"agents.Mine": source}
    with pytest.raises(ProblemRaised) as raised:
        read_tables(loaded({"Mine": {"prompt": "x"}}, **places), root)

    message = raised.value.problem.message
    assert message.startswith("agents.Mine: " if source is None else "config.toml:3: agents.Mine: ")


def prompt_table(file, root, layer=None):
    source = {} if layer is None else {"agents.mine.prompt_file": SimpleNamespace(layer=layer)}
    (found,) = read_tables(loaded({"mine": {"prompt_file": str(file)}}, **source), root)
    return found.prompt


def test_a_prompt_file_of_the_user_is_read(root, tmp_path):
    config_home().mkdir(parents=True)
    (config_home() / "mine.md").write_text("be brief")
    (tmp_path / "far.md").write_text("é" * 24_000)

    assert prompt_table("mine.md", root) == "be brief"
    assert prompt_table("mine.md", root, Layer.USER) == "be brief"
    assert prompt_table(tmp_path / "far.md", root) == "é" * 24_000


@pytest.mark.parametrize(
    "how", ["inside", "linked", "missing", "latin", "large", "folder", "project"]
)
def test_other_prompt_files_are_refused(root, tmp_path, how):
    file = root / "p.md" if how in ("inside", "linked") else tmp_path / "p.md"
    content = {"latin": b"caf\xe9", "large": b"x" * 64_001}.get(how, b"text")
    if how == "folder":
        file.mkdir()
    elif how != "missing":
        file.write_bytes(content)
    if how == "linked":
        (tmp_path / "l.md").symlink_to(file)
        file = tmp_path / "l.md"
    project = next(one for one in Layer if "project" in one.name.lower())

    with pytest.raises(ProblemRaised):
        prompt_table(file, root, project if how == "project" else None)


def test_files_of_the_user_and_of_the_project_are_found_and_trusted(root):
    text = "---\nname: {0}\ndescription: does {0}\n---\nx\n"
    for folder, name in ((config_home() / "agents", "mine"), (root / ".handrail/agents", "theirs")):
        folder.mkdir(parents=True)
        (folder / f"{name}.md").write_text(text.format(name))

    def usable():
        library = find_agents(loaded(), root, lambda name: name)
        return {one.name: one.usable for one in library.list() if one.source != "built-in"}

    assert usable() == {"mine": True, "theirs": False}
    (theirs,) = [one for one in find_agents(loaded(), root, str).list() if one.name == "theirs"]
    trust_agent(Path(theirs.path), theirs.digest)
    assert agent_trust().trusts(Path(theirs.path), theirs.digest)
    assert usable() == {"mine": True, "theirs": True}


def test_a_configuration_inside_the_workspace_is_not_the_users(root, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(root))
    folder = config_home() / "agents"
    folder.mkdir(parents=True)
    (folder / "mine.md").write_text("---\nname: mine\ndescription: x\n---\nx\n")

    library = find_agents(loaded(), root, str)

    assert "mine" not in [one.name for one in library.list()]
