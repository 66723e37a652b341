"""What the error of a provider means: its code, whether to try again, and when."""

from datetime import UTC, datetime

import pytest

from handrail.models.client import scrub_failure
from handrail.models.failures import failure_from_body, read_retry_after

NOW = datetime(2026, 5, 4, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after-ms": "-1", "retry-after": "3"}, 3.0),
        ({"retry-after-ms": "soon", "retry-after": "3"}, 3.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Mon, 04 May 2026 12:00:20 GMT"}, 20.0),
        ({"retry-after": "Mon, 04 May 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Mon, 04 May 2026 12:00:20 -0000"}, None),
        ({"retry-after": "Mon, 04 May 2026 12:00:20 +99999999999999999"}, None),
    ],
)
def test_when_to_try_again_is_read_from_seconds_and_dates(headers, seconds):
    assert read_retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (None, "overloaded", True),
        (302, "network", False),
        (400, "invalid_request", False),
        (401, "auth", False),
        (403, "auth", False),
        (408, "overloaded", True),
        (413, "context_overflow", False),
        (429, "rate_limited", True),
        (499, "invalid_request", False),
        (500, "overloaded", True),
        (503, "overloaded", True),
    ],
)
def test_a_status_without_words_has_a_code(status, code, retryable):
    failure = failure_from_body({}, status, retry_after_s=2.0)

    assert (failure.code, failure.retryable, failure.status) == (code, retryable, status)
    assert failure.retry_after_s == 2.0


@pytest.mark.parametrize("body", [None, [], {"error": None}, {"error": 7}, {"error": {"code": 7}}])
def test_a_body_of_another_shape_is_no_defect(body):
    assert failure_from_body(body, 400).code == "invalid_request"


@pytest.mark.parametrize("body", ["no such model", {"error": "no such model"}])
def test_a_text_is_part_of_the_message(body):
    assert "no such model" in str(failure_from_body(body, 400))


KEY = "sk-test-ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


@pytest.mark.parametrize("filler", range(955, 1001, 5))
def test_a_key_is_hidden_where_its_message_is_cut(filler):
    failed = failure_from_body("x" * filler + KEY + " and " + KEY, 401)
    message = scrub_failure(failed, [KEY]).message

    assert KEY[: len(KEY) // 2] not in message
    assert message.endswith("x" * filler + KEY[: 1000 - filler]) or message.count("[key]") == 1


@pytest.mark.parametrize(
    ("secret", "text", "shown"),
    [
        (KEY, f"{KEY}{KEY}, {KEY[:-1]}!", "[key][key], [key]!"),
        (KEY, KEY[:20], KEY[:20]),
        ("abcd", "abcd abc", "[key] abc"),
        ("abcdefghij", "abcdefgh abcdefg", "[key] abcdefg"),
        ("abc", "abc", "abc"),
    ],
)
def test_half_of_a_secret_or_more_is_hidden(secret, text, shown):
    assert scrub_failure(failure_from_body(text, 401), [secret]).message.endswith(f": {shown}")
