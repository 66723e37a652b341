"""A workspace with configuration files, and loading them as a runtime does."""

from pathlib import Path

import pytest

from handrail.config.layers.load import load_layers


class Place:
    """A workspace, the person's own file beside it, and whether the person trusts."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self.own = folder / "own" / "config.toml"
        (self.root / ".handrail").mkdir(parents=True)
        self.own.parent.mkdir()

    def project(self, text: str, name: str = "config.toml") -> Path:
        path = self.root / ".handrail" / name
        path.write_text(text, "utf-8")
        return path

    def local(self, text: str) -> Path:
        return self.project(text, "config.local.toml")

    def load(self, *, trusted=False, session=None, **overrides):
        return load_layers(self.root, self.own, overrides, lambda digest: trusted, session)


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)
