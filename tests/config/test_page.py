"""The page on configuration says what the code does."""

from pathlib import Path

from handrail.config.layers.project_policy import PARTS, STANDINGS, Standing
from handrail.config.layers.values import ALIASES
from handrail.config.model import Settings

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "configuration.md").read_text("utf-8")
WORDS = {
    Standing.FREE: "free",
    Standing.TRUST: "trust",
    Standing.NARROWS: "narrows",
    Standing.NEVER: "never",
}


def row_of(key: str) -> str:
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| `{key}` |")]
    return rows[0] if rows else ""


def test_every_setting_has_its_row_with_what_a_workspace_may_do():
    wrong = [
        key
        for key in Settings.model_fields
        if not row_of(key).endswith(f" | {WORDS[STANDINGS[key].standing]} |")
    ]

    assert wrong == []


def test_every_foreign_name_has_its_row():
    names = [f"{section}.{key}" for section, keys in ALIASES.items() for key in keys]

    assert [name for name in names if f"`{name}`" not in PAGE] == []


def test_every_part_that_needs_no_trust_is_named():
    parts = {part for table in PARTS.values() for part in table}

    assert [part for part in parts if f"`{part}`" not in PAGE] == []
