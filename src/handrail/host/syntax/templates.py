"""Files from which another program makes the real file: their syntax is not ours to judge."""

from __future__ import annotations

import re
from typing import Final

from handrail.host.syntax.languages import JSON, JSON_WITH_COMMENTS, TOML, YAML, Language

_DATA: Final = frozenset({JSON.name, JSON_WITH_COMMENTS.name, TOML.name, YAML.name, "HTML"})
# `${{ }}` is no template: GitHub's workflows are YAML, and their expressions are strings.
_IN_DATA: Final = re.compile(r"(?<!\$)\{\{|\{%|<%")
# Braces and percent signs mean something in most languages; a whole line of it does not.
_IN_CODE: Final = re.compile(r"^[ \t]*+(?:\{%.*%\}|<%.*%>|\{\{[^{}\n]*\}\})[ \t\r]*$", re.MULTILINE)
_GENERATORS: Final = ("{{ cookiecutter.", "{{cookiecutter.")


def is_template(text: str, language: Language) -> bool:
    """Whether a file that cannot be read looks like a template."""
    if language.name in _DATA:
        return _IN_DATA.search(text) is not None
    return any(mark in text for mark in _GENERATORS) or _IN_CODE.search(text) is not None
