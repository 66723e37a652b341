"""What the tests of frameworks share."""

import pytest

import handrail
from handrail.adapters.approvals import FrameworkApprover

RULES = {"permissions": {"deny": ["read_file(secret/**)", "write_file(frozen/**)"]}}


def pytest_configure(config):
    # LangChain's suites mark tests for plugins that are switched off here.
    for name in ("benchmark", "vcr"):
        config.addinivalue_line("markers", f"{name}: a mark of LangChain's tests, unused here")


def pytest_collection_modifyitems(config, items):
    """Leave out the tests of public suites that a module lists with a reason."""
    excepted = [item for item in items if item.name in getattr(item.module, "EXCEPTIONS", {})]
    config.hook.pytest_deselected(items=excepted)
    items[:] = [item for item in items if item not in excepted]


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "workspace"
    for name, text in (
        ("notes.txt", "teh two words\n"),
        ("secret/key.txt", "s3cr3t\n"),
        ("frozen/a.txt", "old\n"),
    ):
        root.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        root.joinpath(name).write_text(text)
    tmp_path.joinpath("outside.txt").write_text("outside\n")
    return root


@pytest.fixture
async def asking(workspace):
    """A runtime whose questions go to the framework."""
    async with handrail.open(
        workspace, config=RULES, store=":memory:", approver=FrameworkApprover()
    ) as rt:
        yield rt


@pytest.fixture
async def editing(workspace):
    """A runtime in which edits and deletions run without a question."""
    async with handrail.open(
        workspace, config=RULES, store=":memory:", mode="bypass", allow_delete=True
    ) as rt:
        yield rt
