"""The wording of problems with models."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

BASE_URL: Final = ProblemTemplate(
    "invalid_arguments",
    "base_url {url!r} is not an http or https address without user, query and fragment",
    hint="write the key into the variable that key_env names, never into the address",
)
HEADER: Final = ProblemTemplate(
    "invalid_arguments",
    "the header {name!r} of the model cannot be sent",
    hint="a value in `headers` is one line of printable ASCII characters without blanks at its ends",
)
CA_BUNDLE: Final = ProblemTemplate(
    "invalid_arguments",
    "ca_bundle {path!r} cannot be used: {why}",
    hint="name a PEM file with the certificates of the authorities",
)
MODEL_NOT_NAMED: Final = ProblemTemplate(
    "invalid_arguments",
    "{name!r} does not say which model to use",
    hint="set `model` in its table, or write {name}:MODEL",
)
NOT_A_MODEL: Final = ProblemTemplate(
    "invalid_arguments",
    "{type} is not a model: it has no {missing}",
    hint="give a name such as ollama:MODEL, or a handrail.models.custom.CustomModel; for tests of an "
    "agent start a handrail.testing.FakeProvider",
)
OLLAMA_CONTEXT: Final = ProblemTemplate(
    "unavailable",
    "Ollama runs {name!r} with a context of {tokens:,} tokens and silently cuts off what is longer",
    hint="start it with OLLAMA_CONTEXT_LENGTH=32768, or set context_tokens if it has more",
)
PROXY: Final = ProblemTemplate(
    "invalid_arguments",
    "proxy is not an address of a proxy",
    hint="write it as http://HOST:PORT",
)
KEY_OVER_HTTP: Final = ProblemTemplate(
    "invalid_arguments",
    "the key would be sent to {origin} without encryption, where others can read it",
    hint="use an https address, or a tunnel to this machine (ssh -L 8000:HOST:PORT) and "
    "http://127.0.0.1:8000; a server that needs no key can do without key_env and key_command",
)
SOCKS: Final = ProblemTemplate(
    "unavailable",
    "a SOCKS proxy needs the package socksio, which is not installed",
    hint="install httpx2[socks], or name an http proxy",
)
SCRIPT_OPTIONS: Final = ProblemTemplate(
    "invalid_arguments",
    "{name!r} has an unknown option",
    hint="the options are ?wire= (one of {wires}) and &chunk= (a number of characters)",
)
SCRIPT_UNREADABLE: Final = ProblemTemplate(
    "invalid_arguments",
    "{path!r} cannot be read: {why}",
    hint="a relative path is one of the current directory, in a fleet of the directory of its tasks",
)
UNKNOWN_MODEL: Final = ProblemTemplate(
    "invalid_arguments",
    "there is no model named {name!r}",
    hint="models: {known}, script:FILE, replay:FILE; add [models.NAME] to your settings",
)
