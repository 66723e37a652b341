"""The wording of problems with models."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

BASE_URL: Final = ProblemTemplate(
    "invalid_arguments",
    "base_url {url!r} is not an http or https address without user, query and fragment",
    hint="write the key into the variable that key_env names, never into the address",
)
MODEL_NOT_NAMED: Final = ProblemTemplate(
    "invalid_arguments",
    "{name!r} does not say which model to use",
    hint="set `model` in its table, or write {name}:MODEL",
)
OLLAMA_CONTEXT: Final = ProblemTemplate(
    "unavailable",
    "Ollama runs {name!r} with a context of {tokens:,} tokens and silently cuts off what is longer",
    hint="start it with OLLAMA_CONTEXT_LENGTH=32768, or set context_tokens if it has more",
)
SCRIPT_OPTIONS: Final = ProblemTemplate(
    "invalid_arguments",
    "{name!r} has an unknown option",
    hint="the options are ?wire= (one of {wires}) and &chunk= (a number of characters)",
)
SCRIPT_UNREADABLE: Final = ProblemTemplate(
    "invalid_arguments",
    "{path!r} cannot be read: {why}",
)
UNKNOWN_MODEL: Final = ProblemTemplate(
    "invalid_arguments",
    "there is no model named {name!r}",
    hint="models: {known}, script:FILE, replay:FILE; add [models.NAME] to your settings",
)
