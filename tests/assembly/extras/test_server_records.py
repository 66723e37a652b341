"""The files about MCP servers in the state directory."""

import os
import stat

import pytest

from handrail.assembly.extras.server_records import ServerRecords, server_records
from handrail.core.problems import ProblemRaised
from handrail.mcp.client.manifest import ServerManifest

MANIFEST = ServerManifest("digest", ())
URL = "https://example.org/mcp"


@pytest.fixture
def records(tmp_path):
    return ServerRecords(tmp_path / "state" / "mcp")


def test_an_approval_is_kept_until_it_is_withdrawn(records):
    assert records.load("one") is None
    records.save("one", MANIFEST)

    assert records.load("one") == MANIFEST
    assert records.load("two") is None
    assert records.remove("one") is True
    assert records.remove("one") is False
    assert records.load("one") is None


def test_the_files_are_private_and_nothing_else_is_left(records):
    records.save("one", MANIFEST)

    (file,) = records.folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(records.folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", "[" * 100_000])
def test_an_approval_that_cannot_be_read_is_none(records, text):
    records.save("one", MANIFEST)
    next(records.folder.iterdir()).write_text(text)

    assert records.load("one") is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_not_read(records, mode):
    records.save("one", MANIFEST)
    next(records.folder.iterdir()).chmod(mode)

    assert records.load("one") is None


def test_a_link_is_not_read(records, tmp_path):
    records.save("one", MANIFEST)
    file = next(records.folder.iterdir())
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")

    assert records.load("one") is None


def test_a_change_is_noted_until_the_next_approval(records):
    assert records.load_change("one") == ""
    records.note_change("one", "")
    records.note_change("one", "a new tool")
    assert records.load_change("one") == "a new tool"
    records.save("one", MANIFEST)
    assert records.load_change("one") == ""
    records.note_change("one", "again")
    records.remove("one")
    assert records.load_change("one") == ""


def test_long_notes_and_logs_are_cut(records):
    records.note_change("one", "é" * 3_000)
    records.save_log("one", b"x" + b"y" * (64 << 10))

    assert records.load_change("one") == "é" * 500
    assert records.load_log("one") == "y" * (64 << 10)
    assert records.load_log("two") is None
    records.save_log("one", b"\xff")
    assert records.load_log("one") == "\ufffd"


def test_tokens_belong_to_a_server_and_a_url(records):
    assert records.load_tokens("one", URL) is None
    records.save_tokens("one", URL, b"secret")

    assert records.load_tokens("one", URL) == b"secret"
    assert records.load_tokens("one", f"{URL}2") is None
    assert records.load_tokens("two", URL) is None
    assert records.remove_tokens("two") is False
    assert records.remove_tokens("one") is True
    assert records.remove_tokens("one") is False
    assert records.load_tokens("one", URL) is None


@pytest.mark.parametrize("how", ["readable", "linked", "twice", "folder"])
def test_tokens_that_others_could_have_read_or_written_are_refused(records, tmp_path, how):
    records.save_tokens("one", URL, b"secret")
    (file,) = records.folder.iterdir()
    if how == "readable":
        file.chmod(0o640)
    elif how == "twice":
        os.link(file, tmp_path / "other")
    else:
        file.rename(tmp_path / "elsewhere")
        file.mkdir(0o700) if how == "folder" else file.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(ProblemRaised) as raised:
        records.load_tokens("one", URL)

    assert raised.value.problem.code == "untrusted"


def test_a_lock_can_be_opened_before_anything_was_stored(records):
    handle = records.open_token_lock("one")
    os.close(handle)

    assert [one.name for one in records.folder.iterdir()] == ["one.lock"]


def test_all_records_of_a_server_are_forgotten_and_no_others(records):
    for name in ("one", "two"):
        records.save(name, MANIFEST)
        records.note_change(name, "changed")
        records.save_log(name, b"log")
        records.save_tokens(name, URL, b"secret")
        os.close(records.open_token_lock(name))

    records.forget("one")
    records.forget("never")

    assert {one.name.partition(".")[0] for one in records.folder.iterdir()} == {"two"}
    assert len(list(records.folder.iterdir())) == 5


def test_the_records_of_the_user_are_in_the_state_directory(own_home):
    assert server_records().folder == own_home / "state" / "handrail" / "mcp"
