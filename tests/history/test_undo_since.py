from datetime import UTC, datetime

import pytest

from handrail.history.undo.selection import parse_time

NOW = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def utc(monkeypatch):
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-02-03", "2026-02-03T00:00:00+00:00"),
        ("2026-02-03T04:05", "2026-02-03T04:05:00+00:00"),
        ("2026-02-03T04:05:06.250000+02:00", "2026-02-03T02:05:06.250000+00:00"),
        ("9:07", "2026-03-01T09:07:00+00:00"),
        ("09:07:08", "2026-03-01T09:07:08+00:00"),
        ("30s", "2026-03-01T12:00:00+00:00"),
        ("2h ago", "2026-03-01T10:00:30+00:00"),
        (" 1 d ", "2026-02-28T12:00:30+00:00"),
    ],
)
def test_a_time_is_understood(text, moment):
    found = parse_time(text, int(NOW.timestamp()) * 10**9)

    assert found is not None
    assert found == round(datetime.fromisoformat(moment).timestamp() * 1000) * 10**6


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "25:00",
        "2026-13-01",
        "c1",
        "5",
        "5w",
        "m",
        "999999d",
        "0001-01-01T00:00+14:00",
    ],
)
def test_what_is_no_time_is_not_guessed(text):
    assert parse_time(text, int(NOW.timestamp()) * 10**9) is None
