"""Signals to the processes that another program lists."""

import pytest
from tests.support.commands import refused

pytestmark = pytest.mark.finding("F09")


@pytest.mark.parametrize(
    "command",
    [
        "kill -9 $(ps -e -o pid=)",
        "ps -eo pid= | xargs kill -9",
        "ps ax -o pid= | xargs kill -9",
        "ps -A -o pid | xargs kill",
        "kill -9 $(pgrep .)",
        "pgrep '' | xargs kill",
        # The other columns are refused by kill, one by one.
        "ps -e | xargs kill",
    ],
)
def test_a_signal_to_every_process_is_refused(command):
    assert refused(command)


@pytest.mark.parametrize(
    "command",
    [
        "kill -9 $(ps -o pid=)",
        "ps -o pid= | xargs kill",
        "pgrep node | xargs kill",
        "pgrep -f . node | xargs kill",
        "pgrep -u me | xargs kill",
    ],
)
def test_a_signal_to_some_processes_is_not(command):
    assert not refused(command)
