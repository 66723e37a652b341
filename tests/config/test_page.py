"""The page on configuration says what the code does."""

from pathlib import Path

from handrail.config.layers.project_policy import (
    SETTING_RULES,
    UNTRUSTED_PARTS,
    ProjectSettingPolicy,
)
from handrail.config.layers.values import ALIASES
from handrail.config.model import SETTING_NAMES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "configuration.md").read_text("utf-8")
WORDS = {
    ProjectSettingPolicy.FREE: "free",
    ProjectSettingPolicy.TRUST: "trust",
    ProjectSettingPolicy.NARROWS: "narrows",
    ProjectSettingPolicy.NEVER: "never",
}


def row_of(key: str) -> str:
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| `{key}` |")]
    return rows[0] if rows else ""


def test_every_setting_has_its_row_with_what_a_workspace_may_do():
    wrong = [
        key
        for key in SETTING_NAMES
        if not row_of(key).endswith(f" | {WORDS[SETTING_RULES[key].policy]} |")
    ]

    assert wrong == []


def test_every_foreign_name_has_its_row():
    names = [f"{section}.{key}" for section, keys in ALIASES.items() for key in keys]

    assert [name for name in names if f"`{name}`" not in PAGE] == []


def test_every_part_that_needs_no_trust_is_named():
    parts = {part for table in UNTRUSTED_PARTS.values() for part in table}

    assert [part for part in parts if f"`{part}`" not in PAGE] == []
