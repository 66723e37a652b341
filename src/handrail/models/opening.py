"""Opens the model that a user names: a profile of the settings, a known service, a script."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from handrail.core.ports.models import Model, ModelFailed, ModelLimits
from handrail.models import messages
from handrail.models.client import Endpoint, RetryPolicy, WireModel
from handrail.models.context_size import detect_limits
from handrail.models.profiles import ModelProfile, check_profile, find_profile
from handrail.models.scripted.replay import replay_model
from handrail.models.scripted.script_file import read_script
from handrail.models.scripted.script_model import ScriptModel
from handrail.models.transport import HttpOptions, HttpTransport, Transport
from handrail.models.wires.formats import FORMATS
from handrail.models.wires.requests import WireOptions

_OPENAI_HOST: Final = "api.openai.com"
_KEY_COMMAND_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class ModelServices:
    """What opening a model needs of the machine. `run_command` returns the output of a program;
    `read_file` the bytes of a file that the user named.
    """

    environ: Mapping[str, str]
    run_command: Callable[[Sequence[str]], Awaitable[str]]
    read_file: Callable[[str], bytes]
    transport: Callable[[HttpOptions], Transport] = HttpTransport


def open_model(
    named: str | Model, profiles: Mapping[str, ModelProfile], services: ModelServices
) -> Model:
    """The model of this name: `NAME` of the settings, `NAME:MODEL` for another model of that
    profile or of a known service, `script:FILE`, `replay:FILE`. Raises `invalid_arguments` for
    another name, `unavailable` if httpx2 is missing.
    """
    if not isinstance(named, str):
        return named
    kind, colon, rest = named.partition(":")
    if colon and kind in ("script", "replay"):
        return _open_scripted(kind, rest, named, services)
    profile = find_profile(named, profiles)
    limits, transport = _limits(profile), _transport(profile, services)
    key = KeySource(profile, services)
    endpoint = Endpoint(profile.base_url, key.read, profile.headers)
    detect = partial(detect_limits, named, profile, limits, endpoint, transport)
    return WireModel(
        named,
        FORMATS[profile.wire],
        _wire_options(profile),
        endpoint,
        transport,
        limits,
        RetryPolicy(profile.retries, profile.stream_retries, idle_s=profile.idle_s),
        detect,
    )


class KeySource:
    """The key of a profile, from a variable or a program, read when a request is made."""

    def __init__(self, profile: ModelProfile, services: ModelServices) -> None:
        self._profile = profile
        self._services = services
        self._kept: str | None = None

    async def read(self) -> str | None:
        """The key, None if the profile has none; raises `ModelFailed` if it cannot be read."""
        variable, command = self._profile.key_env, self._profile.key_command
        if variable is not None:
            key = self._services.environ.get(variable, "").strip()
            if not key:
                raise ModelFailed("auth", f"the environment variable {variable} is not set")
            return key
        if command is not None and self._kept is None:
            try:
                async with asyncio.timeout(_KEY_COMMAND_S):
                    self._kept = (await self._services.run_command(command)).strip()
            except (TimeoutError, OSError) as error:
                # What the program printed may hold the key.
                what = type(error).__name__
                raise ModelFailed("auth", f"the key command failed: {what}") from None
        return self._kept or None


def _open_scripted(kind: str, rest: str, named: str, services: ModelServices) -> Model:
    """A script or a recording. Only a user names one: on the command line, in Python or in the
    user's own settings.
    """
    path, _, query = rest.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    wire = options.pop("wire", None)
    chunk = options.pop("chunk", "20")
    if options or (wire is not None and wire not in FORMATS) or not chunk.isdecimal():
        raise messages.SCRIPT_OPTIONS.error(name=named, wires=", ".join(FORMATS), field="model")
    try:
        data = services.read_file(path)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise messages.SCRIPT_UNREADABLE.error(path=path, why=why, field="model") from error
    if kind == "replay":
        return replay_model(named, data, wire)
    script = read_script(data.decode("utf-8", "replace"), path)
    return ScriptModel(named, script, wire=wire or "openai-chat", chunk=int(chunk))


def _transport(profile: ModelProfile, services: ModelServices) -> Transport:
    check_profile(profile)
    return services.transport(HttpOptions(profile.proxy, profile.ca_bundle))


def _limits(profile: ModelProfile) -> ModelLimits:
    limits = ModelLimits(sees_images=profile.images)
    if profile.context_tokens is not None:
        limits = replace(limits, context_tokens=profile.context_tokens, context_known=True)
    if profile.max_output_tokens is not None:
        limits = replace(limits, max_output_tokens=profile.max_output_tokens)
    return limits


def _wire_options(profile: ModelProfile) -> WireOptions:
    return WireOptions(
        profile.model,
        profile.images,
        profile.reasoning,
        urlsplit(profile.base_url).hostname == _OPENAI_HOST,
    )
