"""Which language a file is in, by its name; a closed table. What is not in it is not checked."""

from __future__ import annotations

import re
import sys
from pathlib import PurePosixPath
from typing import Final, NamedTuple


class Grammar(NamedTuple):
    """A tree-sitter grammar: its module, and the function in it."""

    module: str
    function: str = "language"


class Language(NamedTuple):
    """How a file is checked: by a parser of ours, or by grammars, of which one must read it."""

    name: str
    grammars: tuple[Grammar, ...] = ()

    @property
    def reader(self) -> str:
        """Who reads the file. A grammar knows neither macros nor every dialect."""
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

_JAVASCRIPT: Final = Grammar("tree_sitter_javascript")
_TYPESCRIPT: Final = Grammar("tree_sitter_typescript", "language_typescript")
_TSX: Final = Grammar("tree_sitter_typescript", "language_tsx")

# No `.h`: most headers hold macros that no grammar without a preprocessor can read.
# JavaScript with type annotations (Flow) reads like TypeScript.
_JS: Final = Language("JavaScript", (_JAVASCRIPT, _TSX))
_TS: Final = Language("TypeScript", (_TYPESCRIPT,))
_CXX: Final = Language("C++", (Grammar("tree_sitter_cpp"),))
_SHELL: Final = Language("shell", (Grammar("tree_sitter_bash"),))
_RUBY: Final = Language("Ruby", (Grammar("tree_sitter_ruby"),))

_BY_SUFFIX: Final[dict[str, Language]] = {
    **dict.fromkeys((".py", ".pyi", ".pyw"), PYTHON),
    **dict.fromkeys((".json", ".ipynb", ".geojson", ".webmanifest"), JSON),
    **dict.fromkeys((".jsonc", ".code-workspace", ".hujson"), JSON_WITH_COMMENTS),
    ".toml": TOML,
    **dict.fromkeys((".yaml", ".yml"), YAML),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), _JS),
    **dict.fromkeys((".ts", ".mts", ".cts"), _TS),
    ".tsx": Language("TSX", (_TSX,)),
    ".go": Language("Go", (Grammar("tree_sitter_go"),)),
    ".rs": Language("Rust", (Grammar("tree_sitter_rust"),)),
    ".c": Language("C", (Grammar("tree_sitter_c"),)),
    **dict.fromkeys((".cc", ".cpp", ".cxx"), _CXX),
    ".java": Language("Java", (Grammar("tree_sitter_java"),)),
    ".cs": Language("C#", (Grammar("tree_sitter_c_sharp"),)),
    **dict.fromkeys((".rb", ".rake", ".gemspec"), _RUBY),
    **dict.fromkeys((".sh", ".bash"), _SHELL),
    **dict.fromkeys((".html", ".htm"), Language("HTML", (Grammar("tree_sitter_html"),))),
    ".css": Language("CSS", (Grammar("tree_sitter_css"),)),
    ".php": Language("PHP", (Grammar("tree_sitter_php", "language_php"),)),
}
_BY_NAME: Final[dict[str, Language]] = {
    **dict.fromkeys(("pipfile", "cargo.lock", "poetry.lock", "uv.lock", "pdm.lock"), TOML),
    **dict.fromkeys(("gemfile", "rakefile"), _RUBY),
}
# Programs that read these take comments and trailing commas.
_COMMENTED: Final = re.compile(
    r"(?:.*/)?(?:\.vscode|\.devcontainer|\.zed)/.*\.json"
    r"|(?:.*/)?(?:[tj]sconfig(?:[.-][^/]*)?|\.?devcontainer|\.eslintrc|\.oxlintrc|\.babelrc"
    r"|babel\.config|biome|deno|turbo|nx|angular|tslint|typedoc|api-extractor|settings"
    r"|keybindings|launch|tasks|language-configuration|\.luarc|\.markdownlint|wrangler)\.json"
)


def language_of(path: str) -> Language | None:
    """The language of a file, None if there is no check for it."""
    folded = path.lower()
    name = PurePosixPath(folded)
    found = _BY_NAME.get(name.name) or _BY_SUFFIX.get(name.suffix)
    if found is JSON and _COMMENTED.fullmatch(folded):
        return JSON_WITH_COMMENTS
    return found
