"""Every catastrophe in many spellings: targets, options, quotes, wrappers and contexts."""

import random

import pytest
from tests.support.commands import refused

# Programs and their targets, each a list of words; `{}` becomes the spelled target.
DELETE = ["rm -rf {}", "rm -fr {}", "rm -r -f -- {}", "rm --recursive {}", "rm -Rvf x {}"]
TARGETS = [
    *("/", "//", "/.", "/*", "/./", "/usr/..", "/etc", "/etc/", "/usr/*", "/bin", "/boot/*"),
    *("~", "~/", "~/*", "~/.*", "$HOME", '"$HOME"', "${HOME}/", '"${HOME}"/*', "/home/u"),
    *("..", "../", "../*", "../..", "./../*", "/root", "/home/*", "/var", "/opt/*", "~/.ssh"),
]
OTHERS = [
    *("sudo id", "su - root", "doas id", "dd if=x of=/dev/sda", "mkfs.ext4 /dev/sda1", "reboot"),
    *("chmod -R 777 /", "chown -R me /etc", "kill -9 -1", "killall -9 x", "pkill -9 -f x"),
    *("shutdown now", "tee /etc/passwd", "cp x /usr/bin/ls", "mv /etc /tmp/x", "passwd root"),
    *("find / -delete", "truncate -s 0 /etc/shadow", "shred /dev/sda", "wipefs -a /dev/sda"),
]
WRAPPERS = [
    "{}", "env {}", "env A=1 {}", "A=1 {}", "command {}", "exec {}", "nohup {}", "nice -n 5 {}",
    "timeout 9 {}", "time {}", "stdbuf -o0 {}", "setsid {}", "! {}", "busybox {}", "\\{}",
    "bash -c '{}'", 'sh -c "{}"', "eval '{}'", "bash -lc '{}'", "bash <<< '{}'", "env -i {}",
    "echo '{}' | sh", "bash <<X\n{}\nX", "printf '%s' '{}' | bash -s", "xargs {} < list",
    "env bash -c 'exec {}'", "nohup sh -c 'timeout 5 {}' &",
]  # fmt: skip
CONTEXTS = [
    "{}", "ls; {}", "ls && {}", "false || {}", "ls | {}", "ls & {}", "ls\n{}", "({})", "{{ {}; }}",
    "if {}; then ls; fi", "for i in 1; do {}; done", "while {}; do :; done", "f() {{ {}; }}; f",
    "echo $({})", 'echo "`{}`"', "cat <({})", "case x in x) {};; esac", "{} &", "{} >/dev/null 2>&1",
    "trap '{}' EXIT", "{} # really", "  {}  ",
]  # fmt: skip


def quoted(rng, word):
    """The same word, spelled otherwise; only plain letters are touched."""
    if not word.isalpha():
        return word
    cut = rng.randrange(len(word))
    return rng.choice(
        [
            word,
            f"{word[:cut]}''{word[cut:]}",
            f"{word[:cut]}\\{word[cut:]}",
            f'"{word}"',
            f"{word[:cut]}'{word[cut:]}'",
            f"/bin/{word}",
            f"/usr/bin/{word}",
        ]
    )


def spelled(seed):
    """One of very many spellings of a catastrophe, always the same for a seed."""
    rng = random.Random(seed)
    if rng.random() < 0.6:
        command = rng.choice(DELETE).format(rng.choice(TARGETS))
    else:
        command = rng.choice(OTHERS)
    wrapper, context = rng.choice(WRAPPERS), rng.choice(CONTEXTS)
    # Quotes inside quotes would mean something else.
    nested = any(mark in wrapper + context for mark in "'\"`\\") or "X\n" in wrapper
    if not nested:
        first, _, rest = command.partition(" ")
        command = f"{quoted(rng, first)} {rest}"
    elif '"' in command or ("'" in wrapper and "'" in context):
        wrapper, context = "{}", "ls; {}"
    if "\n" in wrapper or (nested and wrapper.endswith("&")):
        context = "{}"
    if wrapper.startswith("!") and context == "ls | {}":
        # No shell takes this: only a whole pipeline can be negated.
        context = "ls; {}"
    return context.format(wrapper.format(command))


@pytest.mark.parametrize("start", range(0, 600, 100))
def test_no_spelling_gets_through(start):
    commands = [spelled(seed) for seed in range(start, start + 100)]

    assert [command for command in commands if not refused(command)] == []


@pytest.mark.torture
def test_no_spelling_of_very_many_gets_through():
    commands = {spelled(seed) for seed in range(10_000, 40_000)}

    assert [command for command in sorted(commands) if not refused(command)] == []
