"""A runtime opened on a workspace that brings its own settings."""

import logging

import pytest

import handrail
from handrail.assembly.settings_files import load_from, trust_book
from handrail.core.problems import ProblemRaised
from handrail.host.state.directories import private_directory, state_home


@pytest.fixture
def root(tmp_path):
    (tmp_path / "work" / ".handrail").mkdir(parents=True)
    return tmp_path / "work"


def project(root, text):
    (root / ".handrail" / "config.toml").write_text(text)


def trust(root):
    digest = load_from(root, None, {}).digest
    private_directory(state_home())
    private_directory(trust_book().folder)
    trust_book().add(root, digest)


async def written(root, **settings):
    async with handrail.open(root, store=":memory:", **settings) as rt:
        result = await rt.call("write_file", {"path": "new.txt", "content": "x"})
    return result.status == "ok"


async def test_a_cloned_workspace_cannot_widen_its_own_mode(root):
    project(root, "mode = 'accept-edits'\n")

    assert not await written(root)
    trust(root)
    assert await written(root)
    project(root, "mode = 'accept-edits'\nallow_delete = true\n")
    assert not await written(root)


async def test_what_narrows_holds_against_the_persons_own_file(root):
    project(root, "mode = 'plan'\n")

    assert not await written(root, config={"mode": "accept-edits"})
    assert await written(root, mode="accept-edits")


async def test_what_was_ignored_is_told_and_the_workspace_opens(root, caplog):
    project(root, "network = true\n")

    with caplog.at_level(logging.WARNING, "handrail"):
        async with handrail.open(root, store=":memory:") as rt:
            result = await rt.call("list_files", {})

    assert result.ok
    (record,) = caplog.records
    assert record.getMessage().startswith(".handrail/config.toml: network: ignored until trusted")


def test_a_broken_file_of_the_workspace_is_an_error(root):
    project(root, "mode =\n")

    with pytest.raises(ProblemRaised, match=r"config\.toml:1 is not valid"):
        handrail.open(root)


def test_a_configuration_that_was_named_must_exist(root):
    with pytest.raises(ProblemRaised, match="there is no configuration file"):
        handrail.open(root, config=root / "gone.toml")
