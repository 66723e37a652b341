"""A workspace, a user's home, and skills in both."""

import pytest

from handrail.assembly.skills import trust_skill


@pytest.fixture
def home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    return home


@pytest.fixture
def root(tmp_path, home):
    root = tmp_path / "work"
    root.mkdir()
    return root


@pytest.fixture
def add_skill(root, home):
    """Write a skill; returns its folder."""

    def add(name="greet", *, frontmatter="", body="Say hello.", text=None, user=False, folder=None):
        base = home / ".claude/skills" if user else root / ".handrail/skills"
        place = (folder or base) / name
        place.mkdir(parents=True)
        written = f"---\nname: {name}\ndescription: Greets people\n{frontmatter}---\n{body}\n"
        place.joinpath("SKILL.md").write_text(written if text is None else text)
        return place

    return add


@pytest.fixture
def trust():
    """Trust the skill in a folder as it is now."""

    def trust(folder):
        from handrail.skills.folders import read_folder

        trust_skill(folder, read_folder(folder, 64_000).digest)

    return trust
