"""The models of a runtime: opened on first use, closed with the runtime."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from handrail.config.model import Settings
from handrail.core.ports.agents import AgentDefaults, PricePerMillion, ResolvedModel
from handrail.core.ports.models import Model

if TYPE_CHECKING:
    from handrail.models.opening import ModelServices
    from handrail.models.profiles import ModelProfile

_KEY_COMMAND_S: Final = 30.0
_MAX_KEY_BYTES: Final = 64 * 1024
_MEMBERS: Final = ("name", "wire", "limits", "stream", "aclose")


class ModelSource:
    """Opens the models of one runtime. Each name is opened once."""

    def __init__(self, settings: Settings, chosen: str | Model | None) -> None:
        self._settings = settings
        self._chosen = chosen if chosen is not None else settings.model
        self._opened: dict[str, Model] = {}

    def resolve(self, named: str | Model | None = None) -> ResolvedModel:
        """The model with this name; None: the model of the runtime. Raises `invalid_arguments` if there is
        no such model.
        """
        # Imported here, because a runtime that only runs calls loads nothing of models.
        from handrail.agent import messages

        wanted = named if named is not None else self._chosen
        if wanted is None:
            raise messages.NO_MODEL.error(field="model")
        model = self._open(wanted) if isinstance(wanted, str) else check_model(wanted)
        price = self._price(wanted) if isinstance(wanted, str) else None
        return ResolvedModel(model, price, scripted=getattr(model, "scripted", False))

    @property
    def defaults(self) -> AgentDefaults:
        """The limits of tasks, and the model for summaries."""
        settings = self._settings
        named = (*settings.models, settings.model, settings.small_model)
        models = tuple(dict.fromkeys(one for one in named if one is not None))
        return AgentDefaults(
            vars(settings.budget), settings.max_steps, settings.small_model, models
        )

    async def aclose(self) -> None:
        """Close the models that were opened here."""
        opened, self._opened = self._opened, {}
        for model in opened.values():
            await model.aclose()

    def _open(self, named: str) -> Model:
        from handrail.models.opening import open_model

        if named not in self._opened:
            found = open_model(named, model_profiles(self._settings), model_services())
            self._opened[named] = found
        return self._opened[named]

    def _price(self, named: str) -> PricePerMillion | None:
        table = self._settings.models.get(named)
        price = None if table is None else table.price
        return None if price is None else PricePerMillion(**vars(price))


def check_model(given: Model) -> Model:
    """Return the model; raises `invalid_arguments` for an object of another kind."""
    from handrail.models import messages

    missing = [name for name in _MEMBERS if not hasattr(given, name)]
    if missing:
        raise messages.NOT_A_MODEL.error(
            type=type(given).__name__, missing=" and no ".join(missing)
        )
    return given


def model_profiles(settings: Settings) -> dict[str, ModelProfile]:
    """The profiles of the settings."""
    from handrail.models.profiles import ModelProfile

    return {
        name: ModelProfile(**{key: one for key, one in vars(table).items() if key != "price"})
        for name, table in settings.models.items()
    }


def model_services() -> ModelServices:
    """The services of the machine that are needed to open a model."""
    from handrail.models.opening import ModelServices

    return ModelServices(os.environ, _run_command, _read_file)


async def _run_command(command: Sequence[str]) -> str:
    from handrail.host.processes.user_program import run_for_user

    run = partial(run_for_user, deadline_s=_KEY_COMMAND_S, max_bytes=_MAX_KEY_BYTES)
    return await asyncio.to_thread(run, command)


def _read_file(path: str) -> bytes:
    return Path(path).expanduser().read_bytes()
