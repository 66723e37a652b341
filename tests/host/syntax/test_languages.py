import pytest

from handrail.host.syntax.languages import (
    JSON,
    JSON_WITH_COMMENTS,
    PYTHON,
    TOML,
    YAML,
    detect_language,
    is_template,
)

JAVASCRIPT, HTML = detect_language("a.js"), detect_language("a.html")


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a.py", PYTHON),
        ("src/A.PYI", PYTHON),
        ("a.json", JSON),
        ("package.json", JSON),
        ("a.ipynb", JSON),
        ("tsconfig.json", JSON_WITH_COMMENTS),
        ("app/tsconfig.base.json", JSON_WITH_COMMENTS),
        ("tsconfig-app.json", JSON_WITH_COMMENTS),
        ("mytsconfig.json", JSON),
        (".vscode/anything.json", JSON_WITH_COMMENTS),
        ("x/.vscode/deep/a.json", JSON_WITH_COMMENTS),
        ("x.vscode/a.json", JSON),
        (".devcontainer/devcontainer.json", JSON_WITH_COMMENTS),
        (".devcontainer.json", JSON_WITH_COMMENTS),
        ("a.jsonc", JSON_WITH_COMMENTS),
        ("pyproject.toml", TOML),
        ("Cargo.lock", TOML),
        ("a.yml", YAML),
        ("a.yaml", YAML),
        ("a.yaml.j2", None),
        ("a.json.tmpl", None),
        ("a.json5", None),
        ("a.jsonl", None),
        ("a.txt", None),
        ("a", None),
        (".py", None),
        ("", None),
    ],
)
def test_a_language_follows_from_the_name(path, language):
    assert detect_language(path) == language


@pytest.mark.parametrize(
    "path",
    [
        "a.js",
        "a.jsx",
        "a.mjs",
        "a.ts",
        "a.tsx",
        "a.go",
        "a.rs",
        "a.c",
        "a.cc",
        "a.java",
        "a.cs",
        "a.rb",
        "Gemfile",
        "a.sh",
        "a.html",
        "a.css",
        "a.php",
    ],
)
def test_the_extra_has_grammars_for_other_languages(path):
    assert detect_language(path).grammars


def test_headers_are_left_alone():
    assert detect_language("a.h") is None


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("a: {{ b }}", YAML, True),
        ("{{- if .Values.x }}\na: 1\n{{- end }}", YAML, True),
        ("{% if a %}\nb: 1\n{% endif %}", YAML, True),
        ("a: ${{ github.ref }}", YAML, False),
        ("a: <%= b %>", YAML, True),
        ('{"a": {{ b }}}', JSON, True),
        ("a = {{ b }}", TOML, True),
        ("<p {% if a %}>", HTML, True),
        ("x = {{1}: 2}\ny = f'{{}}'", PYTHON, False),
        ("x = '{%s}' % y", PYTHON, False),
        ("{% if a %}\nimport b\n{% endif %}", PYTHON, True),
        ("import {{ cookiecutter.name }}", PYTHON, True),
        ("<a style={{b: 1}}/>", JAVASCRIPT, False),
        ("  <% if (a) { %>\nx()\n<% } %>", JAVASCRIPT, True),
    ],
)
def test_templates_are_told_by_their_marks(text, language, expected):
    assert is_template(text, language) == expected
