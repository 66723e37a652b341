"""How interpreters receive their programs."""

import pytest
from tests.support.commands import understood

from handrail.shell.blocklist.interpreters import find_interpreter, interpreter_language


def words(command):
    return understood(command)[1].invocations[0].words


@pytest.mark.parametrize(
    ("program", "language"),
    [
        ("python", "python"),
        ("/usr/bin/python3.12", "python"),
        ("pypy3", "pypy"),
        ("perl5.36", "perl"),
        ("lua-5.4", "lua"),
        ("bash-5.2", "bash"),
        ("bash", "bash"),
        ("node", "node"),
        ("node18", "node"),
        ("pythonic", None),
        ("cat", None),
        ("", None),
        (None, None),
    ],
)
def test_the_language_of_a_program(program, language):
    assert interpreter_language(program) == language


# The command; the language, code, words that contain or name the program; whether it reads input.
TABLE = [
    ("bash -c 'x' y", ("bash", ["x"], ["x"], False)),
    ("bash -xc 'x'", ("bash", ["x"], ["x"], False)),
    ("bash -cx 'x'", ("bash", ["x"], ["x"], False)),
    ("bash -c -- 'x'", ("bash", ["x"], ["x"], False)),
    ("bash -o pipefail -c 'x'", ("bash", ["x"], ["x"], False)),
    ("bash -opipefail -c 'x'", ("bash", ["x"], ["x"], False)),
    ("bash +o posix x.sh", ("bash", [], ["x.sh"], False)),
    ("bash x.sh y", ("bash", [], ["x.sh"], False)),
    ("bash -- x.sh", ("bash", [], ["x.sh"], False)),
    ("bash --", ("bash", [], [], True)),
    ("bash", ("bash", [], [], True)),
    ("bash -", ("bash", [], ["-"], True)),
    ("bash /dev/stdin", ("bash", [], ["/dev/stdin"], True)),
    ("bash -s x", ("bash", [], [], True)),
    ("bash --norc", ("bash", [], [], True)),
    ("bash --norc x.sh", ("bash", [], ["x.sh"], False)),
    ("bash --command=x", ("bash", ["x"], ["x"], False)),
    ("busybox sh x.sh", ("sh", [], ["x.sh"], False)),
    ("toybox sh", ("sh", [], [], True)),
    ("busybox", None),
    ("busybox ls", None),
    ("python3 -c 'x' y", ("python", ["x"], ["x"], False)),
    ("python3 -cx y", ("python", ["x"], ["x"], False)),
    ("python3 -Bc 'x'", ("python", ["x"], ["x"], False)),
    ("python3 -m http.server", ("python", [], [], False)),
    ("python3 -m", ("python", [], [], False)),
    ("python3 -mhttp.server 80", ("python", [], [], False)),
    # What follows some modules is code.
    ("python3 -m timeit 'x' y", ("python", ["x", "y"], ["x", "y"], False)),
    ("python3 -mtimeit 'x' y", ("python", ["x", "y"], ["x", "y"], False)),
    ("python3 -m timeit", ("python", [], [], False)),
    ("python3 -W error -c 'x'", ("python", ["x"], ["x"], False)),
    ("python3 -Werror x.py", ("python", [], ["x.py"], False)),
    ("python3 -s x.py", ("python", [], ["x.py"], False)),
    ("python3 -s", ("python", [], [], True)),
    ("python3 - x", ("python", [], ["-"], True)),
    ("python3 -c", ("python", [], [], True)),
    ("perl -e 'x'", ("perl", ["x"], ["x"], False)),
    ("perl -ne 'x' file", ("perl", ["x"], ["x"], False)),
    ("perl -Mx -e 'x'", ("perl", ["x"], ["x"], False)),
    ("perl -m x -e 'y'", ("perl", ["y"], ["y"], False)),
    ("node --eval x", ("node", ["x"], ["x"], False)),
    ("node --eval=x", ("node", ["x"], ["x"], False)),
    ("node --eval", ("node", [], [], True)),
    ("node --print x", ("node", ["x"], ["x"], False)),
    ("node --check x.js", ("node", [], ["x.js"], False)),
    ("deno run x.ts", ("deno", [], ["x.ts"], False)),
    ("deno eval x", ("deno", ["x"], ["x"], False)),
    ("bun run x", ("bun", [], ["x"], False)),
    ("ruby run x", ("ruby", [], ["run"], False)),
    ("ruby eval x", ("ruby", [], ["eval"], False)),
    ("awk 'x' file", ("awk", ["x"], ["x", "x"], False)),
    ("awk -F: 'x' file", ("awk", ["x"], ["x", "x"], False)),
    ("awk -v a=1 'x'", ("awk", ["x"], ["x", "x"], False)),
    ("awk -f x.awk", ("awk", [], [], True)),
    ("at now", ("at", [], [], True)),
    ("at -f x now", ("at", [], [], True)),
    ("crontab x", ("crontab", [], ["x"], False)),
    ("crontab -", ("crontab", [], ["-"], True)),
    ("cat x", None),
]


@pytest.mark.parametrize(("command", "expected"), TABLE)
def test_how_an_interpreter_is_started(command, expected):
    found = find_interpreter(words(command))

    assert expected == (
        found
        and (
            found.language,
            [one.value for one in found.code],
            [one.value for one in found.programs],
            found.reads_input,
        )
    )


def test_a_program_that_is_not_known_may_be_a_file():
    found = find_interpreter(words('bash "$X"'))

    assert (len(found.programs), found.reads_input) == (1, False)


@pytest.mark.parametrize(("command", "shell"), [("dash x", True), ("python x", False)])
def test_shells_are_known(command, shell):
    assert find_interpreter(words(command)).shell is shell


def test_no_words_start_no_interpreter():
    assert find_interpreter([]) is None
