"""The questions about a model, and what they write."""

import pytest

from handrail.cli.commands.setup.model_questions import ModelAnswers, ask_model
from handrail.models.profiles import SERVICES, ModelProfile

NAMES = list(SERVICES)
OWN = str(len(NAMES) + 1)
NONE = str(len(NAMES) + 2)
KEYED = next(name for name, one in SERVICES.items() if one.key_env)


def answer(*lines):
    waiting, said = list(lines), []

    def ask(question):
        said.append(question)
        return waiting.pop(0)

    found = ask_model(ask, said.append)
    assert waiting == []
    return found, said


def test_no_model_is_an_answer():
    assert answer(NONE)[0] is None


def test_numbers_outside_the_list_are_asked_again():
    found, said = answer("0", "x", "", "-1", str(int(NONE) + 1), NONE)

    assert found is None
    assert said.count(f"type a number from 1 to {NONE}") == 5
    assert f"  1  {NAMES[0]}" in said


def test_a_known_service_with_its_own_variable_needs_no_table():
    found, _ = answer(str(NAMES.index(KEYED) + 1), "", " big ", "")

    assert found == ModelAnswers(f"{KEYED}:big", None, SERVICES[KEYED].key_env)
    assert list(found.settings_lines()) == []


def test_another_variable_needs_a_table():
    found, _ = answer(str(NAMES.index(KEYED) + 1), "big", "MY_KEY")

    profile = SERVICES[KEYED]
    assert found.name == KEYED
    assert found.key_env == "MY_KEY"
    assert found.table == ModelProfile(profile.wire, profile.base_url, "big", "MY_KEY")
    lines = list(found.settings_lines())
    assert lines[0] == f"[models.{KEYED}]"
    assert lines[-2:] == ['model = "big"', 'key_env = "MY_KEY"']


def test_an_own_server_needs_an_address_and_maybe_a_key():
    found, said = answer(OWN, "not an address", "http://127.0.0.1:8000/v1", "big", "none")

    assert found.key_env is None
    assert 'base_url = "http://127.0.0.1:8000/v1"' in list(found.settings_lines())
    assert not any(line.startswith("key_env") for line in found.settings_lines())
    assert len([one for one in said if one.startswith("Address")]) == 2


def test_a_key_is_not_taken_for_a_variable():
    found, said = answer(OWN, "http://127.0.0.1:8000/v1", "big", "sk-123", "")

    assert found.key_env is None
    assert sum("not the key itself" in one for one in said) == 1


@pytest.mark.parametrize(
    ("variable", "value", "asked"),
    [("MY_KEY", None, True), ("MY_KEY", "", True), ("MY_KEY", "x", False), (None, None, False)],
)
def test_the_next_steps_name_a_missing_key(monkeypatch, variable, value, asked):
    monkeypatch.delenv("MY_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("MY_KEY", value)

    steps = list(ModelAnswers("m", None, variable).next_steps())

    assert any("export MY_KEY=" in command for _, command in steps) is asked
    assert steps[-2] == ("test the model", "handrail models test m")
    assert len(steps) == 2 + asked
