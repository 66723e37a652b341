"""The wording of problems: every template of every `messages.py`, in one snapshot per area.

Set HANDRAIL_UPDATE_SNAPSHOTS=1 to write the snapshots anew, then read the diff.
"""

import importlib
import os
from pathlib import Path

import pytest

from handrail.core.problems import CODES, ProblemTemplate

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "handrail"
SNAPSHOTS = Path(__file__).parent / "messages"
AREAS = {
    ".".join(path.relative_to(SOURCE).parent.parts): path
    for path in sorted(SOURCE.rglob("messages.py"))
    if "ProblemTemplate" in path.read_text(encoding="utf-8")
}


@pytest.mark.parametrize("area", AREAS)
def test_the_wording_of_an_area_is_its_snapshot(area):
    module = importlib.import_module(f"handrail.{area}.messages")
    templates = {
        name: value for name, value in vars(module).items() if isinstance(value, ProblemTemplate)
    }
    text = "".join(_entry(name, template) for name, template in sorted(templates.items()))
    snapshot = SNAPSHOTS / f"{area}.txt"
    if os.environ.get("HANDRAIL_UPDATE_SNAPSHOTS"):
        snapshot.parent.mkdir(exist_ok=True)
        snapshot.write_text(text, encoding="utf-8")

    assert templates
    assert all(template.code in CODES for template in templates.values())
    assert text == snapshot.read_text(encoding="utf-8")


def test_a_snapshot_belongs_to_an_area():
    assert {path.stem for path in SNAPSHOTS.glob("*.txt")} <= set(AREAS)


def test_a_template_takes_its_values_and_refuses_to_go_without_them():
    template = ProblemTemplate("denied", "{path!r} is denied", hint="ask {who}", retryable=True)
    problem = template.fill(path="a", who="them", field="path")

    assert (problem.message, problem.hint, problem.field) == ("'a' is denied", "ask them", "path")
    assert problem.retryable
    assert template.error(path="a", who="them").problem.code == "denied"
    with pytest.raises(KeyError, match="who"):
        template.fill(path="a")


def _entry(name: str, template: ProblemTemplate) -> str:
    lines = [f"{name} ({template.code})", f"  {template.message}"]
    lines += [f"  hint: {template.hint}"] if template.hint else []
    return "\n".join([*lines, "", ""])
