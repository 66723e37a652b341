"""The record of trust: bound to a workspace and to exactly its content."""

import os

import pytest

from handrail.config.trust import TrustBook
from handrail.core.problems import ProblemRaised


@pytest.fixture
def book(tmp_path):
    folder = tmp_path / "trust"
    folder.mkdir(mode=0o700)
    return TrustBook(folder)


def test_what_was_trusted_is_trusted_there_and_nowhere_else(book, tmp_path):
    book.add(tmp_path / "a", "digest")

    assert book.trusts(tmp_path / "a", "digest")
    assert not book.trusts(tmp_path / "a", "other")
    assert not book.trusts(tmp_path / "b", "digest")


def test_a_workspace_is_the_same_by_every_spelling(book, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("a")
    book.add(tmp_path / "link", "digest")

    assert book.trusts(tmp_path / "x" / ".." / "a", "digest")


def test_new_trust_takes_the_place_of_the_old(book, tmp_path):
    book.add(tmp_path, "old")
    book.add(tmp_path, "new")

    assert [book.trusts(tmp_path, one) for one in ("old", "new")] == [False, True]
    assert len(list(book.folder.iterdir())) == 1


def test_revoked_is_gone(book, tmp_path):
    book.add(tmp_path, "digest")

    assert [book.revoke(tmp_path), book.revoke(tmp_path)] == [True, False]
    assert not book.trusts(tmp_path, "digest")


def test_looking_makes_nothing(tmp_path):
    book = TrustBook(tmp_path / "state" / "trust")

    assert not book.trusts(tmp_path, "digest")
    assert not book.revoke(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "damage", ["torn", "a list", "deep", "link", "fifo", "writable", "folder writable", "stranger"]
)
def test_an_odd_record_means_no_trust(book, tmp_path, damage):
    book.add(tmp_path, "digest")
    (record,) = book.folder.iterdir()
    match damage:
        case "torn":
            record.write_text(record.read_text()[:-5])
        case "a list":
            record.write_text('["digest"]')
        case "deep":
            record.write_text("[" * 15_000)
        case "link":
            record.rename(tmp_path / "moved.json")
            record.symlink_to(tmp_path / "moved.json")
        case "fifo":
            record.unlink()
            os.mkfifo(record, 0o600)
        case "writable":
            record.chmod(0o622)
        case "folder writable":
            book.folder.chmod(0o770)
        case "stranger":
            os.chown(record, 12345, 12345)

    assert not book.trusts(tmp_path, "digest")


def test_a_record_that_was_copied_to_another_workspaces_name_is_worth_nothing(book, tmp_path):
    book.add(tmp_path / "a", "digest")
    (record,) = book.folder.iterdir()
    book.add(tmp_path / "b", "other")
    (other,) = set(book.folder.iterdir()) - {record}
    other.write_bytes(record.read_bytes())

    assert not book.trusts(tmp_path / "b", "digest")


def test_trust_that_cannot_be_kept_is_an_error(tmp_path):
    (tmp_path / "trust").write_text("a file in its way")

    with pytest.raises(ProblemRaised, match="cannot change"):
        TrustBook(tmp_path / "trust").add(tmp_path, "digest")
