"""Ended processes, stopped machines and processes without end, check by check."""

import pytest
from tests.support.commands import expanded, refused, understood

from handrail.shell.blocklist.processes import (
    find_endless_loops,
    find_fork_bombs,
    find_full_disks,
    find_process_damage,
)
from handrail.shell.languages.process_names import matches_every_name, option_letters


def damage(command):
    seen = expanded(command)
    return any(list(find_process_damage(call, seen)) for call in seen.calls)


@pytest.mark.parametrize(
    "command",
    [
        "kill -9 -1",
        "kill -1",
        "kill 1",
        "kill -KILL 1",
        "kill -s KILL -1",
        "kill -n 9 1",
        "kill --signal TERM 1",
        "kill -9 *",
        "kill 4 1",
        "kill -sigterm 1",
        "killall -9 x",
        "killall -KILL x",
        "killall -s KILL x",
        "killall --signal=SIGKILL x",
        "killall -u someone",
        "killall --user someone",
        "killall .",
        "pkill -9 -f x",
        "pkill '.*'",
        'pkill -f "*"',
        "killall -r '.*'",
        "pkill -f -KILL x",
        "pkill --signal KILL --full x",
        "pkill -9 -u me x",
        "pkill -u someone",
        "pkill -U root x y",
        "pkill .",
        "pkill ''",
        "skill -KILL -u someone x",
        "systemctl reboot",
        "systemctl isolate rescue.target",
        "loginctl kill-user u",
        "init 0",
        "yes | xargs -P 0 x",
        "yes | xargs -P0 x",
        "yes | xargs --max-procs=65 x",
        "yes | xargs -P many x",
        "seq 20001 | xargs -P 100 x",
        "seq 1 30000 | xargs -P 100 x",
        "seq 1234567890123456789 | xargs -P 0 x",
        "/usr/bin/yes | xargs -P 0 x",
        "pkill -f '.+'",
        "pkill '^.'",
        "killall -r '.+'",
        "pkill '^[a-z]'",
        "pkill '[[:alpha:]]'",
        "pkill -v nothing",
        "pkill -vf node",
        "pkill -fv node",
        "pkill -INT -v node",
        "pkill --inv node",
        r"pkill '(.)\1*'",
        r"pkill '\<'",
        "pkill -f /",
        "pkill -f ' '",
        "pkill -f -- /",
        "pkill --full '^/'",
        "pkill -i '[A-Z]'",
    ],
)
def test_ends_or_starts_too_much(command):
    assert damage(command)


@pytest.mark.parametrize(
    "command",
    [
        "kill 1234",
        "kill -9 1234",
        "kill -0 1",
        "kill -s 0 1",
        "kill -l 1",
        "kill --list",
        "kill -L",
        "kill",
        "kill -9 12 34",
        "kill %1",
        "killall x",
        "killall -q x",
        "killall -u me x",
        "killall --signal TERM x",
        "pkill x",
        "pkill -9 x",
        "pkill -f x",
        "pkill --full x",
        "pkill -TERM -f x",
        "pkill -u me x",
        "systemctl status reboot-helper",
        "systemctl restart x",
        "./init 0",
        "init 3",
        "yes | xargs x",
        "yes | xargs -P 1 x",
        "yes | xargs -P 64 x",
        "echo a | xargs -P 0 x",
        "seq 20000 | xargs -P 0 x",
        "seq 100 | xargs -P 0 x",
        "xargs -P 0 x < list",
        "cat 30000 | xargs -P 0 x",
        "pkill 'myapp.*'",
        "pkill '^node'",
        "killall -r 'web[0-9]+'",
        "pkill '((a+)+)+'",
        "pkill node",
        "pkill /",
        "pkill -f 'node server.js'",
        "pkill -f /usr/local/bin/shop",
        "pkill -f -- -verbose",
        "pkill -ueve shop x",
        "pkill -HUP nginx",
        "pkill -usr1 nginx",
        "pkill -RTMIN+3 nginx",
        "pkill -VTALRM nginx",
        "killall -v nginx",
    ],
)
def test_ends_its_own_and_starts_a_few(command):
    assert not damage(command)


@pytest.mark.parametrize(
    ("command", "endless"),
    [
        ("while true; do x & done", True),
        ("while :; do x & done", True),
        ("while [ 1 ]; do x & done", True),
        ("while test 1; do x & done", True),
        ("while ((1)); do x & done", True),
        ("until false; do x & done", True),
        ("for ((;;)); do x & done", True),
        ("for (( ; 1 ; )); do x & done", True),
        ("while true; do sleep 1 & done", True),
        ("while true; do x & (y; z); done", True),
        ("while true; do x; done", False),
        ("while true; do x & sleep 1; done", False),
        ("while true; do x & wait; done", False),
        ("while true; do x & break; done", False),
        ("while x; do x & done", False),
        ("until true; do x & done", False),
        ("while false; do x & done", False),
        ("for ((i=0;i<3;i++)); do x & done", False),
        ("for i in 1 2; do x & done", False),
        ("{ x & }", False),
        ("if true; then x & fi", False),
        ("x &", False),
    ],
)
def test_loops_that_start_processes_without_end(command, endless):
    script, _ = understood(command)

    assert bool(list(find_endless_loops(script))) is endless


@pytest.mark.parametrize(
    ("command", "bomb"),
    [
        ("f() { f | f; }; f", True),
        ("f() { f & }; f", True),
        ("f() { g & }; g() { f; }; f", True),
        ("f() { g | g; }; g() { h; }; h() { f; }; f", True),
        ("f() { f; }; f", False),
        ("f() { x & }; f", False),
        ("f() { g & }; g() { x; }; f", False),
        ("f() { x | f; }; f", False),
        ("f() { g; }; g() { h & }; h() { x; }; f", False),
        ("f & f &", False),
    ],
)
def test_functions_that_start_themselves(command, bomb):
    assert len(list(find_fork_bombs(expanded(command)))) == int(bomb)


def fills(command):
    seen = expanded(command)
    return any(find_full_disks(seen))


@pytest.mark.parametrize(
    "command",
    [
        "yes > x",
        "yes >> x",
        "yes >| x",
        "yes 1> x",
        "yes &> x",
        "cat /dev/zero > x",
        "cat /dev/urandom > x",
        "pv /dev/zero > x",
        "tail -f /dev/random > x",
        "dd if=/dev/zero of=x",
        "dd if=/dev/zero bs=1M of=x",
        "yes | tee x",
        "yes | tee /dev/null x",
        "yes | tee > x",
        "cat /dev/urandom | base64 > junk",
        "tr -dc a-z < /dev/urandom > junk",
        "yes | cat | cat | cat | cat | cat | cat > x",
        "c=cat; yes | $c > x",
        "yes | { cat; cat; } | { cat; cat; } | tee x",
    ],
)
def test_writes_without_end(command):
    assert fills(command)


@pytest.mark.parametrize(
    "command",
    [
        "yes > /dev/null",
        "yes 2> x",
        "yes < x",
        "yes",
        "timeout 5 yes > x",
        "cat x > y",
        "cat /dev/zero > /dev/null",
        "head -c 5 /dev/zero > x",
        "dd if=/dev/zero of=x count=1",
        "dd if=/dev/zero of=/dev/null",
        "dd if=/dev/zero",
        "dd if=x of=y",
        "echo a | tee x",
        "yes | tee /dev/null",
        "yes | cat x",
        "tr -dc a-z < /dev/urandom | head -c 9 > key",
        "cat /dev/urandom | head -c 9 | base64 > key",
        "timeout 5 cat /dev/urandom | base64 > x",
        "timeout 5 yes | tee x",
        "yes | timeout 5 cat | tee x",
    ],
)
def test_writes_that_end(command):
    assert not fills(command)


@pytest.mark.parametrize(
    ("pattern", "everything"),
    [
        ("*", True),
        (".", True),
        ("", True),
        (".*", True),
        ("[a-z]", True),
        ("[[:alpha:]]", True),
        ("[[:alnum:]]+", True),
        ("[[:digit:]]", False),
        ("[[:upper:]]", False),
        ("[0-9]", False),
        ("init", False),
        ("init|bash|sshd|systemd|node|cron|python|dbus", True),
        ("init|bash|sshd|systemd|node|cron|python", False),
        ("(a*)*(b*)*", True),
        ("(.*.*.*.*.*.*.*.*.*)*[ih]", False),
        ("(.*.*.*.*.*.*.*.*.*.*.*.*)*.", True),
        ("a{99999999999999999999}", False),
        ("[[a]", False),
        # What cannot be read may match.
        (".{0,1001}", True),
        ("[", True),
        ("(", True),
        (r"(.)\1*", True),
        ("[[.a.]-[.z.]]", True),
        # Five hundred characters are read, more are not.
        ("x" * 500, False),
        ("x" * 501, True),
        # RE2 reads them otherwise than pkill.
        (r"\<", True),
        (r"\>", True),
        (r"\`", True),
        (r"\'", True),
        (r"\<node\>", False),
        (r"\\<", False),
        (".{,5}", True),
        ("x{,5}y", False),
        ("g++", False),
        ("*node*", False),
    ],
)
def test_which_patterns_match_whatever_runs(pattern, everything):
    assert matches_every_name(pattern) is everything


@pytest.mark.parametrize(
    ("pattern", "everything"),
    [
        ("/", True),
        (" ", True),
        ("^/", True),
        ("^[a-z]", True),
        ("[/ ]", True),
        ("usr", False),
        ("node server.js", False),
        ("python", False),
    ],
)
def test_which_patterns_match_every_command_line(pattern, everything):
    assert matches_every_name(pattern, full=True) is everything


@pytest.mark.parametrize(
    ("pattern", "ignore_case", "everything"),
    [("[A-Z]", False, False), ("[A-Z]", True, True), ("NODE", True, False)],
)
def test_capital_letters_may_count_as_small_ones(pattern, ignore_case, everything):
    assert matches_every_name(pattern, ignore_case=ignore_case) is everything


@pytest.mark.parametrize(
    ("options", "letters"),
    [
        ("-vf", "vf"),
        ("-9 -f", "9f"),
        ("-KILL -f", "f"),
        ("-sigterm", ""),
        ("-ueve", "u"),
        ("-fu eve", "fu"),
        ("--inverse --full", "vf"),
        ("--inv --ignore", "vi"),
        ("-- -v", ""),
        ("--", ""),
        ("node", ""),
        ("-", ""),
    ],
)
def test_the_letters_of_options(options, letters):
    assert option_letters(options.split()) == set(letters)


@pytest.mark.parametrize(
    ("command", "blocked"),
    [
        ("kill -9 $(pgrep -v sshd)", True),
        ("pgrep -v sshd | xargs kill -9", True),
        ("kill $(pgrep --inverse sshd)", True),
        ("kill $(pgrep -fv sshd)", True),
        ("kill $(pgrep -f /)", True),
        ("kill $(pgrep -i '[A-Z]')", True),
        ("kill $(pgrep node)", False),
        ("kill -9 $(pgrep -f 'node server.js')", False),
        ("pgrep node | xargs kill -9", False),
        ("pgrep -v sshd", False),
    ],
)
def test_processes_that_another_program_names(command, blocked):
    assert bool(refused(command)) is blocked


@pytest.mark.parametrize(
    ("command", "full"),
    [
        # 250 GiB is the most.
        ("fallocate -l 250G x", False),
        ("fallocate -l 251G x", True),
        ("fallocate -l 268435456001 x", True),
        ("fallocate --length=1T x", True),
        ("fallocate -l 262144000K x", False),
        ("fallocate -l 262144001K x", True),
        ("fallocate -l 256001MiB x", True),
        ("fallocate -l many x", False),
        ("mkfile 251g x", True),
        ("mkfile 250g x", False),
        ("head -c 1P /dev/zero > x", True),
        ("head --bytes=1E /dev/zero > x", True),
        ("head -c 1P", False),
        ("dd if=x of=y bs=1G count=251", True),
        ("dd if=x of=y bs=1G count=250", False),
        ("dd if=x of=y count=524288000", False),
        ("dd if=x of=y count=524288001", True),
        ("dd if=x of=/dev/null bs=1G count=251", False),
        ("dd if=x bs=1G count=251", False),
        ("dd if=x of=y bs=1T", False),
        ("timeout 5 fallocate -l 251G x", False),
    ],
)
def test_how_much_may_be_written(command, full):
    seen = expanded(command)
    assert any(find_full_disks(seen)) is full
