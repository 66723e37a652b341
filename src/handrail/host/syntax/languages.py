"""Determines the language of a file by its name; files of other languages are not checked."""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final, NamedTuple


class LanguageGrammar(NamedTuple):
    """A tree-sitter grammar: its module, and the function in it."""

    module: str
    function: str = "language"


class Language(NamedTuple):
    """How a file is checked: by Handrail's own parser, or by grammars, one of which must
    accept it.
    """

    name: str
    grammars: tuple[LanguageGrammar, ...] = ()

    @property
    def reader(self) -> str:
        """The name of the parser. A grammar knows neither macros nor every dialect."""
        if self.grammars:
            return f"tree-sitter's grammar of {self.name}"
        if self == PYTHON:
            return f"Python {sys.version_info[0]}.{sys.version_info[1]}"
        return self.name


PYTHON: Final = Language("Python")
JSON: Final = Language("JSON")
JSON_WITH_COMMENTS: Final = Language("JSON with comments")
TOML: Final = Language("TOML")
YAML: Final = Language("YAML")

_JAVASCRIPT: Final = LanguageGrammar("tree_sitter_javascript")
_TYPESCRIPT: Final = LanguageGrammar("tree_sitter_typescript", "language_typescript")
_TSX: Final = LanguageGrammar("tree_sitter_typescript", "language_tsx")

# No `.h`: most headers contain macros that no grammar without a preprocessor can parse. JavaScript
# with type annotations (Flow) parses like TypeScript.
_JS: Final = Language("JavaScript", (_JAVASCRIPT, _TSX))
_TS: Final = Language("TypeScript", (_TYPESCRIPT,))
_CXX: Final = Language("C++", (LanguageGrammar("tree_sitter_cpp"),))
_SHELL: Final = Language("shell", (LanguageGrammar("tree_sitter_bash"),))
_RUBY: Final = Language("Ruby", (LanguageGrammar("tree_sitter_ruby"),))

_BY_SUFFIX: Final[dict[str, Language]] = {
    **dict.fromkeys((".py", ".pyi", ".pyw"), PYTHON),
    **dict.fromkeys((".json", ".ipynb", ".geojson", ".webmanifest"), JSON),
    **dict.fromkeys((".jsonc", ".code-workspace", ".hujson"), JSON_WITH_COMMENTS),
    ".toml": TOML,
    **dict.fromkeys((".yaml", ".yml"), YAML),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), _JS),
    **dict.fromkeys((".ts", ".mts", ".cts"), _TS),
    ".tsx": Language("TSX", (_TSX,)),
    ".go": Language("Go", (LanguageGrammar("tree_sitter_go"),)),
    ".rs": Language("Rust", (LanguageGrammar("tree_sitter_rust"),)),
    ".c": Language("C", (LanguageGrammar("tree_sitter_c"),)),
    **dict.fromkeys((".cc", ".cpp", ".cxx"), _CXX),
    ".java": Language("Java", (LanguageGrammar("tree_sitter_java"),)),
    ".cs": Language("C#", (LanguageGrammar("tree_sitter_c_sharp"),)),
    **dict.fromkeys((".rb", ".rake", ".gemspec"), _RUBY),
    **dict.fromkeys((".sh", ".bash"), _SHELL),
    **dict.fromkeys((".html", ".htm"), Language("HTML", (LanguageGrammar("tree_sitter_html"),))),
    ".css": Language("CSS", (LanguageGrammar("tree_sitter_css"),)),
    ".php": Language("PHP", (LanguageGrammar("tree_sitter_php", "language_php"),)),
}
_BY_NAME: Final[dict[str, Language]] = {
    **dict.fromkeys(("pipfile", "cargo.lock", "poetry.lock", "uv.lock", "pdm.lock"), TOML),
    **dict.fromkeys(("gemfile", "rakefile"), _RUBY),
}
# Programs that read these accept comments and trailing commas.
_COMMENTED: Final = re.compile(
    r"(?:.*/)?(?:\.vscode|\.devcontainer|\.zed)/.*\.json"
    r"|(?:.*/)?(?:[tj]sconfig(?:[.-][^/]*)?|\.?devcontainer|\.eslintrc|\.oxlintrc|\.babelrc"
    r"|babel\.config|biome|deno|turbo|nx|angular|tslint|typedoc|api-extractor|settings"
    r"|keybindings|launch|tasks|language-configuration|\.luarc|\.markdownlint|wrangler)\.json"
)


@lru_cache(maxsize=1_024)
def detect_language(path: str) -> Language | None:
    """The language of a file; None if there is no check for it."""
    folded = path.lower()
    name = PurePosixPath(folded)
    found = _BY_NAME.get(name.name) or _BY_SUFFIX.get(name.suffix)
    if found is JSON and _COMMENTED.fullmatch(folded):
        return JSON_WITH_COMMENTS
    return found


_DATA: Final = frozenset({JSON.name, JSON_WITH_COMMENTS.name, TOML.name, YAML.name, "HTML"})
# `${{ }}` is not a template: GitHub workflows are YAML, and their expressions are strings.
_IN_DATA: Final = re.compile(r"(?<!\$)\{\{|\{%|<%")
# Braces and percent signs are common in most languages; a whole line of them is not.
_IN_CODE: Final = re.compile(r"^[ \t]*+(?:\{%.*%\}|<%.*%>|\{\{[^{}\n]*\}\})[ \t\r]*$", re.MULTILINE)
_GENERATORS: Final = ("{{ cookiecutter.", "{{cookiecutter.")


def is_template(text: str, language: Language) -> bool:
    """Return whether a file that cannot be parsed looks like a template of another file."""
    if language.name in _DATA:
        return _IN_DATA.search(text) is not None
    return any(mark in text for mark in _GENERATORS) or _IN_CODE.search(text) is not None
