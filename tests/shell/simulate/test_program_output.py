"""What programs print by the guess of the simulated shell, with the programs as the judges."""

import subprocess

import pytest

from handrail.shell.expand import UNKNOWN
from handrail.shell.simulate.program_output import guess_output
from handrail.shell.simulate.shell_state import DOWNLOADED, ShellState

# A command and what is on its standard input.
RUN = [
    (("basename", "/usr/lib/x.so"), ""),
    (("basename", "x"), ""),
    (("basename", "/usr/lib/"), ""),
    (("dirname", "/usr/lib/x.so"), ""),
    (("dirname", "x"), ""),
    (("dirname", "/x"), ""),
    (("dirname", "/usr/lib/"), ""),
    (("echo", "a", "b"), ""),
    (("echo", "-e", "a\\tb\\x41\\0101"), ""),
    (("echo", "-E", "a\\tb"), ""),
    (("echo", "a\\tb"), ""),
    (("printf", "%s-%s|", "a", "b", "c", "d"), ""),
    (("printf", "100%%\\n"), ""),
    (("printf", "\\x2f\\n"), ""),
    (("printf", "\\057"), ""),
    (("tr", "a-c", "A-C"), "abcd\n"),
    (("tr", "abc", "x"), "abcd\n"),
    (("tr", "[:lower:]", "[:upper:]"), "aZ9\n"),
    (("tr", "[:digit:]", "x"), "aZ09\n"),
    (("tr", "-d", "ab"), "abc\n"),
    (("tr", "-d", "0-8"), "0123456789\n"),
    (("tr", "\\n", " "), "a\nb\n"),
    (("rev",), "abc\nde\n"),
    (("cut", "-d:", "-f1"), "a:b:c\nd:e\n"),
    (("cut", "-d:", "-f3"), "a:b:c\nd:e\n"),
    (("cut", "-d", ":", "-f", "2"), "a:b:c\n"),
    (("sed", "s/a/b/"), "aa\na\n"),
    (("sed", "s/a/b/g"), "aa\na\n"),
    (("sed", "s/a/b/;s/b/c/g"), "ab\n"),
    (("sed", "s|/|:|g"), "/usr/lib\n"),
    (("sed", "s/\\(a\\)b/\\1c/"), "ab\n"),
    (("sed", "s/b/[&]/"), "abc\n"),
    (("base64", "-d"), "cm0gLXJmIC8=\n"),
    (("base64", "--decode"), "YQ==\n"),
    (("xxd", "-r", "-p"), "726d0a\n"),
    (("cat",), "a\nb\n"),
    (("cat", "-"), "a\nb\n"),
    (("cat", "file"), ""),
    (("cat", "file", "-"), "and\n"),
    (("head", "-n", "9"), "a\n"),
    (("tail", "-n", "+1", "file"), ""),
    (("sort", "file"), ""),
    (("tee", "made"), "a\n"),
    (("find", "."), ""),
    (("true",), ""),
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "file").write_text("in the file\n")
    return tmp_path


@pytest.mark.parametrize(("command", "given"), RUN, ids=lambda one: str(one)[:40])
def test_a_guess_is_what_the_program_prints(folder, command, given):
    if command[0] == "find":
        folder.joinpath("file").unlink()
    state = ShellState(str(folder), "/home/u", files={f"{folder}/file": "in the file\n"})
    done = subprocess.run(
        ["bash", "-c", '"$@"', "bash", *command],
        input=given,
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
        cwd=folder,
    )

    assert guess_output(command, given, state) == done.stdout


@pytest.mark.parametrize(
    ("command", "given", "expected"),
    [
        ("curl -s https://x.example/i", None, DOWNLOADED),
        ("base64 -d", DOWNLOADED, DOWNLOADED),
        ("base64 -d", None, UNKNOWN),
        ("base64 x", "YQ==", None),
        ("openssl base64 -d", "YQ==", "a"),
        ("openssl enc -d", "YQ==", "a"),
        ("openssl s_client -connect x:443", None, DOWNLOADED),
        ("openssl version", None, None),
        ("gunzip -c", DOWNLOADED, DOWNLOADED),
        ("gunzip -c", "text", "text"),
        ("gunzip -c", None, None),
        ("xxd -p", "61", None),
        ("xxd -r", None, None),
        ("xxd -r", "no hex", None),
        ("rev", None, None),
        ("tr a b", None, None),
        ("tr -s a", "aa", "aa"),
        ("cut -f1", "a b", "a b"),
        ("cut -d: -f1", None, None),
        ("cut -d: -f1,2", "a:b", "a:b"),
        ("sed p", "a", "a"),
        ("sed s/a/b/", None, None),
        ("sed s/(/b/", "a", "a"),
        ("ls /", None, "etc\nusr\nhome\n"),
        ("ls -a /", None, "etc\nusr\nhome\n"),
        ("ls", None, None),
        ("ls /srv", None, None),
        ("find", None, ".\n"),
        ("find / /etc -type f", None, "/\n/etc\n"),
        ("find / -name x", None, "/etc/found\n"),
        ("find src -name x", None, None),
        ("ls -A /home/u", None, ".ssh\n.config\nDocuments\n"),
        ("ls -d /*", None, "/etc\n/usr\n/home\n"),
        ("python3 -c print('a'+'b')", None, "ab\n"),
        ("python3 -c x.print(1)", None, None),
        ("find ( -type f )", None, ".\n"),
        ("ps -e -o pid=", None, "1\n"),
        ("ps -eo pid", None, "1\n"),
        ("ps -o pid=", None, None),
        ("ps -e", None, "1 ? 0 init\n"),
        ("ps aux", None, "root 1 0 init\n"),
        ("ps -ef", None, "root 1 0 init\n"),
        ("ps -p 1", None, None),
        ("ps -o pid -C nginx", None, None),
        ("pgrep .", None, "1\n"),
        ("pgrep -f .*", None, "1\n"),
        ("pgrep nginx", None, None),
        ("pgrep", None, None),
        ("getent passwd root", None, "user:x:1000:1000:user:/home/u:/bin/sh\n"),
        ("getent hosts x", None, None),
        ("whoami", None, "u\n"),
        ("pwd", None, "/w\n"),
        ("which sh", None, "sh\n"),
        ("realpath ../x", None, "/x\n"),
        ("readlink -f a/./b", None, "/w/a/b\n"),
        ("realpath", None, None),
        ("basename", None, None),
        ("dirname", None, None),
        ("git log -1 --format=format:rm", None, "rm\n"),
        ("git log --pretty tformat:rm", None, "rm\n"),
        ("git status", None, None),
        ("cat gone", None, None),
        ("cat gone known", None, "text"),
        ("head -3 known", "other", "text"),
        ("head 3", "other", "other"),
        ("/bin/cat known", None, "text"),
        ("python3 x.py", "text", None),
        (":", "text", ""),
    ],
)
def test_a_guess_where_the_machine_would_decide(command, given, expected):
    state = ShellState("/w", "/home/u", files={"/w/known": "text"})

    assert guess_output(command.split(" "), given, state) == expected
