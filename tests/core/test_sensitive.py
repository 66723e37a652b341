"""Which names say that a file holds secrets."""

import pytest

from handrail.core.names.sensitive import is_sensitive, is_sensitive_folder, is_sensitive_name


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "backend/.env.local",
        "Backend/.ENV",
        "id_rsa",
        "keys/server.pem",
        "/home/user/.ssh/config",
        ".aws/anything",
        ".SSH/known_hosts",
        ".kube/",
    ],
)
def test_files_and_folders_that_hold_secrets(path):
    assert is_sensitive(path)


@pytest.mark.parametrize(
    "path", ["a.py", ".env.example", "env", "docs/ssh.md", "id_rsa.pub", "sshd/a.txt", ".sshd/x"]
)
def test_names_that_only_look_like_them(path):
    assert not is_sensitive(path)


@pytest.mark.parametrize(
    ("pattern", "asks"),
    [
        (".env*", True),
        (".*", True),
        (".??*", True),
        ("*.pem", True),
        ("id_*", True),
        ("src/[.]env", True),
        (".ssh/*", True),
        ("*", False),
        ("*.py", False),
        ("?", False),
        ("*a*", False),
        ("src/*.ts", False),
    ],
)
def test_a_glob_asks_for_secrets_if_it_is_written_for_them(pattern, asks):
    assert is_sensitive(pattern, glob=True) is asks


def test_what_is_no_glob_is_a_name_also_where_globs_are_read():
    assert is_sensitive(".env", glob=True)
    assert not is_sensitive("a.py", glob=True)


def test_a_name_with_a_star_is_a_name_where_no_globs_are_read():
    assert not is_sensitive("*.pem*")


@pytest.mark.parametrize(
    ("path", "holds"), [(".ssh", True), ("a/.AWS/b", True), ("a/b", False), ("ssh", False)]
)
def test_a_folder_is_known_by_any_name_of_its_path(path, holds):
    assert is_sensitive_folder(path) is holds


def test_a_name_is_compared_without_regard_to_case():
    assert is_sensitive_name(".Env")
    assert not is_sensitive_name(".Env.Example")
