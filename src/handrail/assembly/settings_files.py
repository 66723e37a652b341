"""Finds and loads the settings of a workspace: the user's file, project files, and trust in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from handrail.config.layers.load import LoadedSettings, load_layers
from handrail.config.trust import FOLDER, TrustBook
from handrail.core.problems import ProblemRaised
from handrail.host.state.directories import config_home, private_directory, state_home


def load_from(
    root: str | Path,
    config: str | Path | Mapping[str, Any] | None,
    overrides: Mapping[str, Any],
    trusted: Callable[[str], bool] | None = None,
) -> LoadedSettings:
    """The settings of a workspace, with the source of each value.

    `config` is a file or a mapping to use instead of the user's file. Without `trusted`, the records of
    `handrail trust` decide which project files are trusted.
    """
    place = Path(root).expanduser().absolute()
    if isinstance(config, Mapping):
        own: Path | Mapping[str, Any] = config
    else:
        own = config_file(config)
        if config is not None and not own.is_file():
            raise ProblemRaised(
                "not_found", f"there is no configuration file {str(config)!r}", field="config"
            )
    return load_layers(place, own, overrides, trusted or partial(trust_book().trusts, place))


def is_inside(path: Path, root: Path) -> bool:
    """Whether a path, with links resolved, is a root or lies in it."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def config_file(config: str | Path | None) -> Path:
    """The configuration file: the given one, or the user's."""
    return Path(config) if config is not None else config_home() / "config.toml"


def trust_book(kind: str = FOLDER) -> TrustBook:
    """The user's record of trusted files of one kind, by default of settings; creates nothing."""
    return TrustBook(state_home() / kind)


def add_trust(kind: str, path: Path, digest: str) -> None:
    """Record that the user trusts a path with this hash; creates the folder of the record."""
    private_directory(state_home())
    private_directory(state_home() / kind)
    trust_book(kind).add(path, digest)
