"""Fields of settings: limits, checks before and after, and secrets that no output shows."""

from dataclasses import MISSING
from typing import Annotated

import pytest
from pydantic import TypeAdapter, ValidationError

from handrail.config.setting_fields import FieldValidator, SecretText, setting


def test_a_secret_is_only_what_is_revealed():
    secret = SecretText("abc")
    assert secret.reveal() == "abc"
    assert "abc" not in f"{secret} {secret!r}"
    assert "***" in repr(secret)


def test_secrets_with_the_same_text_are_equal():
    assert SecretText("abc") == SecretText("abc")
    assert SecretText("abc") != SecretText("abd")
    assert SecretText("abc") != "abc"
    assert len({SecretText("abc"), SecretText("abc"), SecretText("abd")}) == 2
    assert hash(SecretText("abc")) != hash(SecretText("abd"))


def test_a_secret_is_read_from_text_and_written_as_stars():
    adapter = TypeAdapter(SecretText)
    read = adapter.validate_python("abc")
    assert read.reveal() == "abc"
    assert adapter.validate_python(read) is read
    assert adapter.dump_python(read) == "***"
    assert adapter.dump_json(read) == b'"***"'
    with pytest.raises(ValidationError):
        adapter.validate_python(3)


def test_a_check_runs_before_or_after_the_conversion():
    seen = []

    def note(value):
        seen.append(value)
        return value

    assert TypeAdapter(Annotated[int, FieldValidator(note)]).validate_python("3") == 3
    assert TypeAdapter(Annotated[int, FieldValidator(note, before=True)]).validate_python("4") == 4
    assert seen == [3, "4"]


def test_a_default_that_is_a_table_is_not_shared():
    made = setting({}, description="x")
    assert made.default is MISSING
    assert made.default_factory() == {}
    assert made.default_factory() is not made.default_factory()
    assert dict(made.metadata) == {"description": "x"}


@pytest.mark.parametrize("default", [3, None, "x", MISSING])
def test_other_defaults_are_kept(default):
    made = setting(default, ge=1)
    assert made.default is default
    assert made.default_factory is MISSING
    assert dict(made.metadata) == {"ge": 1}
