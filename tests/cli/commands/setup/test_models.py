"""`handrail models`: what is configured, and whether it answers."""

import asyncio
import json
import threading

import pytest

from handrail.cli.main import main
from handrail.testing import FakeProvider, ProviderFault, says

KEY = "sk-secret-0123456789"


@pytest.fixture
def server():
    """A provider in a thread of its own."""
    ready, stop = threading.Event(), asyncio.Event()
    provider = FakeProvider([says("ready")], key=KEY)
    loops = []

    async def serve():
        async with provider:
            loops.append(asyncio.get_running_loop())
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(30)
    yield provider
    loops[0].call_soon_threadsafe(stop.set)
    thread.join(30)


@pytest.fixture
def settings(tmp_path, server, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCAL_KEY", KEY)
    config = tmp_path / "config.toml"
    config.write_text(
        f"""
model = "local"
[models.local]
wire = "openai-chat"
base_url = "{server.base_url("openai-chat")}"
model = "tiny"
key_env = "LOCAL_KEY"
retries = 0
"""
    )
    return ["--config", str(config)]


def run(capsys, *arguments):
    code = main(["models", *arguments])
    return code, capsys.readouterr()


def test_models_are_listed_without_their_keys(settings, capsys):
    code, printed = run(capsys, "list", "--json", *settings)
    rows = {row["name"]: row for row in map(json.loads, printed.out.splitlines())}

    assert code == 0
    assert rows["local"]["chosen"]
    assert rows["local"]["key"] == "$LOCAL_KEY"
    assert rows["local"]["key_present"]
    assert "anthropic:MODEL" in rows
    assert KEY not in printed.out
    code, printed = run(capsys, *settings)
    assert code == 0
    assert "local *" in printed.out
    assert "chosen: local;" in printed.out.splitlines()[-1]


def test_a_chosen_model_of_a_known_service_is_named(tmp_path, capsys):
    (tmp_path / "own.toml").write_text('model = "anthropic:some-model"\n')
    code, printed = run(capsys, "--config", str(tmp_path / "own.toml"))

    assert code == 0
    assert "anthropic:some-model" in printed.out.splitlines()[-1]


def test_a_model_is_tested(settings, capsys):
    code, printed = run(capsys, "test", "local", "--json", *settings)
    report = json.loads(printed.out)

    assert code == 0
    assert (report["ok"], report["text"], report["finish"]) == (True, "ready", "end")
    assert not report["context_known"]


def test_a_failure_is_reported(settings, server, capsys):
    server.add(ProviderFault("500"))
    server.add(ProviderFault("500"))
    run(capsys, "test", "local", *settings)
    code, printed = run(capsys, "test", "local", *settings)

    assert code == 1
    assert "overloaded" in printed.out
    assert KEY not in printed.out + printed.err


def test_an_unknown_model_is_a_usage_error(settings, capsys):
    code, printed = run(capsys, "test", "nothing", *settings)

    assert code == 2
    assert "script:FILE" in printed.err


@pytest.mark.threat("A07")
def test_a_script_of_a_project_file_is_never_used(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".handrail").mkdir()
    (tmp_path / "evil.jsonl").write_text('{"text": "evil"}\n')
    text = 'model = "script:evil.jsonl"\n'
    (tmp_path / ".handrail" / "config.toml").write_text(text)

    code, printed = run(capsys, "list", "--json")
    rows = [json.loads(line) for line in printed.out.splitlines()]
    tested, said = run(capsys, "test", "script:evil.jsonl", "--json")

    assert code == 0
    assert not any(row["chosen"] for row in rows)
    assert tested == 0
    # The user typed it, and it is shown as what it is.
    assert json.loads(said.out)["scripted"]
