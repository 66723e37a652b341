"""A fork in a loop that never ends is refused; a daemon's two forks are only asked about."""

import pytest

from handrail.shell.blocklist.forking_code import forks_without_end

PYTHON = "import os, sys, time\n"
DAEMONS = [
    "if os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\nwhile True: time.sleep(1)",
    "os.fork()\nos.fork()\nfor fd in range(3): os.close(fd)",
    "pid = os.fork()\nif pid > 0:\n    sys.exit(0)\nos.setsid()\nif os.fork() > 0: sys.exit(0)\n"
    "for line in sys.stdin: print(line)",
    "def daemonize():\n    if os.fork(): os._exit(0)\n    os.setsid()\n    if os.fork(): os._exit(0)\n"
    "daemonize()\nwhile 1:\n    time.sleep(60)",
    "for _ in range(2):\n    if os.fork(): os._exit(0)",
    "while True:\n    pid = os.fork()\n    if not pid: break\n    os.waitpid(pid, 0)",
    "print([x for x in 'fork' * 3])",
]
BOMBS = [
    "while True: os.fork()",
    "while 1:\n    if True:\n        os.fork()",
    "while os.fork(): pass",
    "while not os.fork(): pass",
    "[os.fork() for _ in iter(int, 1)]",
    "for _ in range(10**9): os.fork()",
    "for _ in range(1000): os.fork()",
    "import itertools\nfor _ in itertools.count(): os.fork()",
    "from os import fork as f\nwhile True: f()",
    "f = os.fork\nwhile True: f()",
    "def f(): os.fork()\nwhile True: f()",
    "def f():\n    os.fork()\n    f()\nf()",
    "while True: getattr(os, 'fork')()",
    "while True: exec('os.fork()')",
    "while True:\n    os.forkpty()",
]


@pytest.mark.finding("F14")
@pytest.mark.parametrize("code", DAEMONS)
def test_forks_that_come_to_an_end_are_not_refused(code):
    assert not forks_without_end(PYTHON + code)


@pytest.mark.parametrize("code", BOMBS)
def test_forks_without_end_are_refused(code):
    assert forks_without_end(PYTHON + code)


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ("fork while fork", True),
        ("fork while 1", True),
        ("while (1) { fork }", True),
        ("while(1){ if (1) { x() } fork(); }", True),
        ("loop { fork }", True),
        ("for(;;){fork();}", True),
        ("fork until 0;", True),
        ("loop do fork end", True),
        ("loop do\n  fork\nend", True),
        ("exit if fork; setsid; exit if fork; while (1) { sleep 1 }", False),
        ("if (fork) { exit } while (1) { sleep 1 }", False),
        ("$x = 'while'; print 1", False),
    ],
)
def test_other_languages_are_read_by_statements_and_braces(code, refused):
    assert forks_without_end(code) is refused


def test_what_python_cannot_read_ends_in_time():
    assert not forks_without_end("fork" + "(" * 100_000)
    assert not forks_without_end("fork;" + "while {" * 2000)
