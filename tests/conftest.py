"""Fixtures that every test may use, and the rule that nothing is skipped in CI."""

import os

import pytest


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory, monkeypatch):
    """No test sees or changes the state and configuration of whoever runs it."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    return home


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport():
    return _refuse_skip((yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report():
    return _refuse_skip((yield))


def _refuse_skip(report):
    if report.outcome == "skipped" and os.environ.get("CI"):
        report.outcome = "failed"
        # pytest does not count a failure that says it was expected.
        vars(report).pop("wasxfail", None)
        report.longrepr = f"skipped, which CI forbids: {report.longrepr}"
    return report
