"""Fixtures that every test may use, and the rule that nothing is skipped in CI."""

import os

import pytest


@pytest.fixture
def anyio_backend():
    return "asyncio"


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
