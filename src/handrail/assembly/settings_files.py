"""Which settings hold in a workspace: the user's files, the workspace's own, the trust."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from handrail.config.layers.load import LoadedSettings, load_layers
from handrail.config.trust import FOLDER, TrustBook
from handrail.core.problems import ProblemRaised
from handrail.host.state.directories import config_home, state_home


def load_from(
    root: str | Path,
    config: str | Path | Mapping[str, Any] | None,
    overrides: Mapping[str, Any],
    trusted: Callable[[str], bool] | None = None,
) -> LoadedSettings:
    """The settings in force in a workspace, and where each of them comes from.

    `config` names a file, or is a mapping, to use instead of the user's own file. Without
    `trusted`, what the user has trusted with `handrail trust` counts.
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


def config_file(config: str | Path | None) -> Path:
    """The configuration in force: the one that was named, or the user's own."""
    return Path(config) if config is not None else config_home() / "config.toml"


def trust_book() -> TrustBook:
    """The user's record of what is trusted; nothing is made by this."""
    return TrustBook(state_home() / FOLDER)
