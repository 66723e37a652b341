"""Opens the model that a user names: a profile of the settings, a known service, or a script."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from handrail.core.ports.models import Model, ModelFailed, ModelLimits
from handrail.models import messages
from handrail.models.client import Endpoint, WireModel
from handrail.models.context_size import detect_limits
from handrail.models.profiles import ModelProfile, check_profile, find_profile, is_header_value
from handrail.models.retries import RetryPolicy
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
    """What opening a model needs from the machine. `run_command` returns the output of a program;
    `read_file` returns the bytes of a file that the user named.
    """

    environ: Mapping[str, str]
    run_command: Callable[[Sequence[str]], Awaitable[str]]
    read_file: Callable[[str], bytes]
    transport: Callable[[HttpOptions], Transport] = HttpTransport


def open_model(
    named: str | Model, profiles: Mapping[str, ModelProfile], services: ModelServices
) -> Model:
    """Return the model with this name: `NAME` of the settings, `NAME:MODEL` for another model of
    that profile or of a known service, `script:FILE`, `replay:FILE`. Raises `invalid_arguments` for
    any other name, `unavailable` if httpx2 is missing.
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
        RetryPolicy(profile.retries, idle_s=profile.idle_s),
        detect,
    )


class KeySource:
    """The key of a profile, from a variable or a program, read when a request is made."""

    def __init__(self, profile: ModelProfile, services: ModelServices) -> None:
        self._profile = profile
        self._services = services
        self._kept: str | None = None
        self._reading = asyncio.Lock()

    async def read(self) -> str | None:
        """Return the key, None if the profile has none; raises `ModelFailed` if it cannot be read."""
        variable, command = self._profile.key_env, self._profile.key_command
        if variable is not None:
            key = self._services.environ.get(variable, "").strip()
            if not key:
                raise ModelFailed(
                    "auth",
                    f"the environment variable {variable} is not set",
                    hint=f"set it (export {variable}=KEY) and start again; `key_env` in the table of the "
                    "model in your settings names another variable",
                )
            return _check_key(key, f"the environment variable {variable}")
        if command is not None:
            async with self._reading:
                if self._kept is None:
                    self._kept = await self._run(command)
        return self._kept or None

    async def _run(self, command: Sequence[str]) -> str:
        """The first line that the key command prints: password managers print notes below it."""
        try:
            async with asyncio.timeout(_KEY_COMMAND_S):
                printed = (await self._services.run_command(command)).strip()
        except TimeoutError:
            late = f"the key command took longer than {_KEY_COMMAND_S:g} s"
            raise ModelFailed("auth", late) from None
        except OSError as error:
            # Without its output, which may contain the key.
            why = error.strerror or "it cannot be run"
            raise ModelFailed("auth", f"the key command failed: {why}") from None
        first, _, _ = printed.partition("\n")
        return _check_key(first.strip(), "the first line that `key_command` prints")


def _check_key(key: str, where: str) -> str:
    """Return the key; raises `ModelFailed`, without the key in it, if it cannot be sent."""
    if not is_header_value(key):
        message = f"{where} is no key: it has characters that a header cannot have"
        hint = "a key is one line of printable ASCII characters"
        raise ModelFailed("auth", message, hint=hint)
    return key


def _open_scripted(kind: str, rest: str, named: str, services: ModelServices) -> Model:
    """Open a script or a recording. Only a user can name one: on the command line, in Python or in
    the user settings.
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
        why = error.strerror or "it is no file"
        raise messages.SCRIPT_UNREADABLE.error(path=path, why=why, field="model") from error
    if kind == "replay":
        return replay_model(named, data, wire)
    script = read_script(data.decode("utf-8", "replace"), path)
    return ScriptModel(named, script, wire=wire or "openai-chat", chunk=int(chunk))


def _transport(profile: ModelProfile, services: ModelServices) -> Transport:
    check_profile(profile)
    return services.transport(HttpOptions(profile.proxy, profile.ca_bundle))


def _limits(profile: ModelProfile) -> ModelLimits:
    limits = ModelLimits(sees_images=profile.images, stream_retries=profile.stream_retries)
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
