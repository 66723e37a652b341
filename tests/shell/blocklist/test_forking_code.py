"""Code that starts processes without end: loops, recursion, and what bounds them."""

import pytest

from handrail.shell.blocklist.forking_code import forks_without_end


@pytest.mark.parametrize(
    ("code", "endless"),
    [
        ("import os\nwhile True: os.fork()", True),
        ("import os\nwhile 1:\n    os.fork()", True),
        ("import os\nwhile os.fork(): pass", True),
        ("import os\nwhile False: os.fork()", False),
        ("import os\nwhile True:\n    os.fork()\n    break", False),
        ("import os\nwhile True:\n    os.fork()\n    os.wait()", False),
        ("import os\nwhile x: os.fork()", False),
        ("import os\nfor i in itertools.count(): os.fork()", True),
        ("import os\nfor i in iter(int, 1): os.fork()", True),
        ("import os\nfor i in iter(x): os.fork()", False),
        ("import os\nfor i in range(10**9): os.fork()", True),
        ("import os\nfor i in range(10000000): os.fork()", True),
        ("import os\nfor i in range(65): os.fork()", True),
        ("import os\nfor i in range(64): os.fork()", False),
        ("import os\nfor i in range(n): os.fork()", False),
        ("import os\nfor i in items: os.fork()", False),
        ("import os\n[os.fork() for i in itertools.count()]", True),
        ("import os\n{os.fork() for i in range(5)}", False),
        ("import os\ndef f():\n    os.fork()\n    f()\nf()", True),
        ("import os\ndef f():\n    os.fork()\nf()", False),
        ("import os\nos.fork()", False),
        ("print('while True: os.fork()')", False),
        ("fork while 1", True),
        ("while (1) { fork; }", True),
        ("loop do fork end", True),
        ("loop { fork }", True),
        ("fork; print 1", False),
        ("while (1) { print 1; } fork;", False),
        ("{ fork }", False),
    ],
)
def test_whether_code_forks_without_end(code, endless):
    assert forks_without_end(code) is endless
