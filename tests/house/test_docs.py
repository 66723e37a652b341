"""The pages are true: their code runs, their links lead somewhere, the generated ones are current."""

import dataclasses
import importlib
import re
import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest

import handrail
from handrail.cli.parser import COMMANDS
from handrail.config.model import SETTING_NAMES
from handrail.core.events import Event
from handrail.core.problems import CODES

# Builds, checkers and the code of whole pages run here; their own limits end them earlier.
pytestmark = pytest.mark.timeout(600)
ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
README_LINES = 150


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def page_param(path: Path) -> object:
    """A page as a parameter, with the markers of what its code needs from the machine."""
    needs = re.findall(r"<!-- (needs_\w+) -->", path.read_text(encoding="utf-8"))
    return pytest.param(path, marks=[getattr(pytest.mark, need) for need in needs], id=name(path))


# The README is run from the built wheel, in test_wheel.py.
@pytest.mark.parametrize("page", [page_param(p) for p in PAGES if p.name != "README.md"])
def test_the_code_of_a_page_runs(page):
    assert script("run_blocks.py", str(page)) == ""


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_inside_the_repository_lead_somewhere(page):
    targets = re.findall(r"\]\((?!\w+:)([^)#]+)", page.read_text(encoding="utf-8"))

    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_does_not_talk_down_or_promise_later(page):
    prose = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)

    assert re.findall(r"(?i)\b(simply|just|easily|obviously|coming soon|todo)\b", prose) == []


def test_pictures_are_small_and_shown():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    pictures = sorted((ROOT / "docs" / "pictures").iterdir())

    assert pictures
    assert [one.name for one in pictures if f"pictures/{one.name})" not in text] == []
    assert [one.name for one in pictures if one.stat().st_size > 150_000] == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < README_LINES


def test_every_setting_and_every_command_has_its_line_in_the_pages():
    settings = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    commands = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")

    assert [name for name in SETTING_NAMES if f"| `{name}` |" not in settings] == []
    assert [name for name in COMMANDS if f"| `handrail {name}` |" not in commands] == []


def test_every_public_name_has_its_line_in_the_python_reference():
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    methods = [name for name in vars(handrail.Runtime) if not name.startswith("_")]
    importlib.import_module("handrail.agent.events")
    events = [event.type for event in Event.__subclasses__()]
    fields = [
        field.name
        for kind in (handrail.ApprovalRequest, handrail.ToolResult, *Event.__subclasses__())
        for field in dataclasses.fields(kind)
    ]
    keywords = [*signature(handrail.open).parameters, *signature(handrail.tool).parameters]
    wanted = {*methods, *events, *fields, *keywords, *CODES, *handrail.Status}

    prose = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    told = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", prose))))

    # What only the synchronous door needs, and what is given by its place.
    assert sorted(wanted - told - {"same_turn", "root", "function"}) == []


def test_generated_pages_are_current():
    assert script("generate_docs.py", "--check") == ""


def script(file: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / file, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr
