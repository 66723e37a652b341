"""Code that prints without end."""

import pytest

from handrail.shell.languages.endless_code import prints_without_end, writes_file


@pytest.mark.parametrize(
    ("code", "endless"),
    [
        ("BEGIN{while(1)print 1}", True),
        ("while True: print(1)", True),
        ('print "x" while 1', True),
        ('loop { puts "x" }', True),
        ("for(;;)console.log(1)", True),
        ("while True: pass", False),
        ("while True:\n  print(1)\n  time.sleep(1)", False),
        ("while(1){last if $i; print 1}", False),
        ("for i in range(3): print(i)", False),
        ("print('while True')", False),
    ],
)
def test_a_loop_that_prints_and_never_stops(code, endless):
    assert prints_without_end(code) is endless


def test_files_that_code_writes():
    assert writes_file('BEGIN{print 1 > "x"}')
    assert writes_file('f = open("x", "w")')
    assert not writes_file('f = open("x")')
