"""Where the words of a wrapper end and those of its command begin; the wrappers are asked too."""

import shutil
import subprocess

import pytest
from tests.support.shell import flat, ran

from handrail.shell.analyze.wrappers import wrapper_specs


@pytest.mark.parametrize(
    "wrapper",
    [
        "env",
        "env -i",
        "env -",
        "env -iu A -u B",
        "env --ignore-environment --unset=A --unset B",
        "env --uns A",
        "env A=1 B='c d' C=\"$x\"",
        "env -C /tmp -v",
        "env --",
        "env -S 'A=1 nice -n 3'",
        "/usr/bin/env -i /usr/bin/nice",
        "command",
        "command -p --",
        "builtin",
        "exec",
        "exec -a name -cl",
        "exec -aname",
        "nohup",
        "nohup --",
        "nice",
        "nice -n 5",
        "nice -n5",
        "nice -5",
        "nice -n -5",
        "nice --adjustment=5",
        "nice --adj 5",
        "ionice -c 2 -n7 -t",
        "ionice --class idle",
        "chrt -f 10",
        "chrt --fifo -v 10",
        "taskset 0x1",
        "taskset -c 0,1",
        "/usr/bin/time -v -o f",
        "\\time -f %e",
        "time",
        "timeout 5",
        "timeout -k 3 5s",
        "timeout --sig=KILL --kill-after 3 --fore 5",
        "timeout -s KILL -v 5",
        "stdbuf -oL -e 0",
        "stdbuf --output=L",
        "setsid -fw",
        "setsid --wait",
        "xargs",
        "xargs -0rtn1 -P4",
        "xargs -n 1 -L 2 -s 9 -d '\\n' -a f -E x",
        "xargs --max-args=1 --null --no-run",
        "xargs --max-a 1",
        "xargs -i -l -e",
        "xargs --replace --eof --max-lines",
        "sudo",
        "sudo -u root -g wheel -nEH",
        "sudo --user=root --non-interactive",
        "sudo --us root A=1",
        "sudo -h host -p prompt --",
        "doas -u root -n",
        "pkexec --user root",
        "runuser -u nobody --",
        "watch -x -n 1",
        "flock -n -w 3 file",
        "flock --timeout 3 file",
        "unshare -rn --map-root-user",
        "unshare --mount --fork -w /tmp",
        "nsenter -t 1 -m -u",
        "nsenter --target 1 --all",
        "chroot --userspec=a /root",
        "setpriv --reuid 1 --clear-groups --no-new-privs",
        "strace -f -e trace=open -o f",
        "ltrace -c -o f",
        "gdb -q --args",
        "valgrind --leak-check=full -q",
        "entr -cr",
        "busybox",
        "toybox",
        "caffeinate -i -t 5",
        "systemd-run --user -q --unit x",
        "proxychains4 -q",
        "jobs -x",
        "fd . -x",
        "fd -e py -Hx",
        "fd --exec",
        "fd --exec-batch",
        "fdfind --exec-b",
        "find . -exec",
        "find . -name a -ok",
        "find . -name '*.py' -type f -execdir",
        "sudo env A=1 nohup nice -n 5 timeout 5 xargs -0",
    ],
)
def test_the_command_begins_where_the_wrapper_s_words_end(wrapper):
    end = " ;" if "find ." in wrapper else ""
    found = flat(f"{wrapper} rm -rf x{end}")

    assert [word.value for word in found.invocations[-1].words] == ["rm", "-rf", "x"]
    assert [reason.text for reason in found.doubts] == []


@pytest.mark.parametrize(
    "command",
    [
        "env", "env -i", "env A=1", "command -v rm", "command -V rm", "exec > x", "ionice -p 1",
        "taskset -p 1", "sudo -l rm", "sudo -v", "sudoedit x", "xargs", "find . -name rm", "fd rm x",
        "fd -tx rm", "jobs -l", "gdb rm", "timeout --help", "trap - EXIT", "trap '' INT", "trap -p",
        "trap EXIT", "nice --version", "ssh -V",
    ],
)  # fmt: skip
def test_a_wrapper_that_runs_nothing_wraps_nothing(command):
    assert [one.is_wrapper for one in flat(command).invocations] == [False]


def test_every_command_of_a_finder_is_found_with_its_placeholder_unknown():
    assert ran("find . -exec cat {} + -o -exec rm -f {}.bak \\; -delete")[1:] == [
        ["cat", None],
        ["rm", "-f", None],
    ]


def test_the_command_of_fd_may_be_attached_and_ends_at_a_semicolon():
    attached, ended = flat("fd -Hxrm -rf x"), flat("fd a -x rm -rf x \\;")

    for found in (attached, ended):
        assert [word.value for word in found.invocations[-1].words] == ["rm", "-rf", "x"]
        assert found.doubts == ()
    assert flat("fd a -x rm -rf x \\; y").doubts != ()


def test_a_placeholder_of_xargs_is_unknown_in_every_word():
    assert ran("xargs -I % cp % dir/%.bak")[1:] == [["cp", None, None]]


def test_the_words_that_wrap_are_named_from_the_outside_in():
    found = flat("sudo nice bash -c 'env ls'")

    assert [(one.program, one.wrapped_by) for one in found.invocations] == [
        ("sudo", ()),
        ("nice", ("sudo",)),
        ("bash", ("sudo", "nice")),
        ("env", ("sudo", "nice", "bash")),
        ("ls", ("sudo", "nice", "bash", "env")),
    ]


def test_a_command_behind_an_option_that_nobody_knows_is_still_found():
    found = flat("sudo --surprise -Z rm -rf x")

    assert found.invocations[-1].program == "rm"
    assert len(found.doubts) == 2


REAL = [
    "env -i -u A B=1",
    "env --uns A -",
    "env -S 'A=1 nice -n 1'",
    "env -vi",
    "nice -n 3",
    "nice -3",
    "nice --adj=3",
    "timeout -k 3 -s KILL 5",
    "timeout --fore --sig TERM 5s",
    "stdbuf -oL -e0",
    "stdbuf --out L",
    "nohup",
    "setsid -w",
    "setsid --wait --",
    "ionice -c 3",
    "ionice --class 3 -t",
    "flock -n /dev/null",
    "flock --timeout 3 -x /dev/null",
    "xargs -0 -n 1 -P 2 -a /dev/null -t",
    "xargs --max-args 1 --max-p=1",
    "xargs --eof -e",
    "find . -maxdepth 0 -exec",
    "bash -c 'exec \"$@\"' _",
    "taskset 1",
    "chrt -b 0",
]


@pytest.mark.parametrize("wrapper", REAL)
def test_real_wrappers_begin_the_command_where_we_do(wrapper, tmp_path):
    """The wrapper itself runs `printf`; its words are those that we found behind the wrapper."""
    name = wrapper.split()[0]
    assert shutil.which(name), f"{name} is missing on this machine"
    command = f"{wrapper} printf '<%s>' a -b --c"
    if name == "find":
        command += " ';'"

    done = subprocess.run(
        ["/bin/bash", "--norc", "-c", command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=tmp_path,
        check=False,
    )

    words = [word.value for word in flat(command).invocations[-1].words]
    if name == "bash":
        words = ["printf", "<%s>", "a", "-b", "--c"]
    expected = "".join(f"<{word}>" for word in words[2:])
    assert (done.stdout.decode(), words[0]) == (expected, "printf"), done.stderr


def test_the_table_names_only_what_exists():
    for name, wrapper in wrapper_specs().items():
        assert wrapper.rest in ("words", "text", "none"), name
        for options in (wrapper.text, wrapper.idle, wrapper.shell, wrapper.bare, wrapper.moves,
                        wrapper.replaces, wrapper.only, wrapper.program):  # fmt: skip
            for option in options - {"always"}:
                assert known(wrapper, option), (name, option)
        assert not set(wrapper.flags) & set(wrapper.values + wrapper.attached), name


def known(wrapper, option):
    if option.startswith("--"):
        return {option[2:], option[2:] + "="} & wrapper.long
    return option[1] in wrapper.flags + wrapper.values + wrapper.attached
