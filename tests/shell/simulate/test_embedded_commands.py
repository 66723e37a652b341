"""The shell texts that programs run by their own syntax."""

import shlex

import pytest

from handrail.shell.simulate.carried_commands import (
    commands_in_variables,
    is_command_text,
    startup_commands,
)
from handrail.shell.simulate.embedded_commands import embedded_commands

# A command, what it reads, and the texts that a shell would run for it.
TEXTS = [
    ("git -c core.pager=less log", "", ["less"]),
    ("git -ccore.editor=vi commit", "", ["vi"]),
    ("git -c user.name=x log", "", []),
    ("git -c alias.x='!date' x a", "", ["date 'a'"]),
    ("git -c alias.x='!date' x", "", ["date"]),
    ("git -c alias.x='!date' y a", "", ["date"]),
    ("git -c alias.x=log x", "", ["git log"]),
    ("git -C config config core.pager less", "", ["less"]),
    ("git config core.pager '!less'", "", ["less"]),
    ("git config --global core.pager less", "", ["less"]),
    ("git config core.pager", "", []),
    ("git config user.name x", "", []),
    ("git config set core.pager less", "", ["less"]),
    ("git submodule foreach --recursive git clean", "", ["git clean"]),
    ("git submodule update", "", []),
    ("git filter-branch --tree-filter 'rm x' HEAD", "", ["rm x"]),
    ("git bisect run make test", "", ["'make' 'test'"]),
    ("git bisect start", "", []),
    ("git rebase -x 'make test' main", "", ["make test"]),
    ("git rebase --exec='make test' main", "", ["make test"]),
    ("git clone --upload-pack x u", "", ["x"]),
    ("git status", "", []),
    ("hg --config alias.x='!date' x", "", ["date"]),
    ("hg --config ui.editor=vi x", "", ["vi"]),
    ("hg --config web.port=1 x", "", []),
    ("sed '1e date' a", "", ["date"]),
    ("sed -e p -e '1e date' a", "", ["date"]),
    ("sed --expression='1e date' a", "", ["date"]),
    ("sed -n p a", "", []),
    ("sed 'w out' a", "", ["> 'out'"]),
    ("sed -i '$a date' /home/u/.bashrc", "", ["date"]),
    ("sed -i '$a date' notes", "", []),
    ("vim -c '!date' a", "", ["date"]),
    ("vim '+!date' a", "", ["date"]),
    ("vim -c 'w /etc/x' a", "", ["> '/etc/x'"]),
    ("vim -c \"call system('date')\" a", "", ["date"]),
    ("vim -c 'set nu' a", "", []),
    ("vim + a", "", []),
    ("ex a", "!date\n", ["date"]),
    ("ed a", "!date\n", ["date"]),
    ("ed a", "w\n", [">> 'a'"]),
    ("ed a", "1,3w b\n", [">> 'b'"]),
    ("ed -s a", "wq\n", [">> 'a'"]),
    ("ed", "w\n", []),
    ("ed a", "p\n", []),
    ("emacs --eval '(shell-command \"date\")'", "", ["date"]),
    ("emacs --eval '(delete-directory \"/x\" t)'", "", ["rm -rf '/x'"]),
    ("emacs a", "", []),
    ("gdb -ex 'shell date' a", "", ["date"]),
    ("gdb a", "!date\n", ["date"]),
    ("gdb -ex run a", "", []),
    ("sqlite3 a.db '.shell date'", "", ["date"]),
    ("sqlite3 a.db", ".system date\n", ["date"]),
    ("psql -c '\\! date'", "", ["date"]),
    ("mysql", "system date\n", ["date"]),
    ("psql -c \"copy t from program 'date'\"", "", ["date"]),
    ("psql -c 'select 1'", "", []),
    ("less '+!date' a", "", ["date"]),
    ("less +G a", "", []),
    ("man -P date ls", "", ["date"]),
    ("man --pager=date ls", "", ["date"]),
    ("tmux new -d date", "", ["date"]),
    ("tmux new-session -s name date -u", "", ["date"]),
    ("prlimit --nofile=1 date -u", "", ["'date' '-u'"]),
    ("perf stat -d date", "", ["'date'"]),
    ("perf report", "", []),
    ("npx -c date", "", ["date", "'date'"]),
    ("npm exec date", "", ["'date'", "date"]),
    ("npm test", "", []),
    ("yarn x date", "", ["'date'", "date"]),
    ("nix-shell --run date", "", ["date"]),
    ("poetry run date -u", "", ["'date' '-u'", ""]),
    ("conda run -n env date", "", ["'env' 'date'", "'date'"]),
    ("direnv exec . date", "", ["'.' 'date'", "'date'"]),
    ("poetry install", "", ["", ""]),
    ("make --eval='x:;date'", "", ["date"]),
    ("make -f -", "x:\n\t@date\n", ["date"]),
    ("make -f -", "y := $(shell date)\n", ["date"]),
    ("make all", "", []),
    ("expect -c 'spawn date'", "", ["date"]),
    ("crontab -", "@daily date\n0 1 * * * who\n", ["date", "who"]),
    ("at now", "date\n", ["date\n"]),
    ("awk 'BEGIN{system(\"date\")}'", "", ["date"]),
    ("awk '{print > \"out\"}'", "", ["> 'out'"]),
    ("awk '{print}'", "", []),
    ("parallel 'echo {} x' ::: a b", "", ["echo a x", "echo b x"]),
    ("parallel echo ::: a", "", ["echo a"]),
    ("parallel echo a", "", []),
    ("parallel echo ::: 1 2 3 4 5 6 7 8 9", "", [f"echo {n}" for n in range(1, 9)]),
    ("tar --checkpoint-action=exec=date -cf x y", "", ["date"]),
    ("tar -I date -xf x", "", ["date"]),
    ("tar -xf x", "", []),
    ("rsync -e date a b:", "", ["date"]),
    ("ssh -o ProxyCommand=date h", "", ["date"]),
    ("rg --pre date x", "", ["date"]),
    ("rg --pre-glob '*.c' x", "", []),
    ("fzf --bind 'enter:execute(date)'", "", ["date"]),
    ("strace -o '|date' x", "", ["date"]),
    ("/lib64/ld-linux-x86-64.so.2 --list date", "", ["'date'"]),
    ("hyperfine -w 3 'date -u' who", "", ["3", "date -u", "who"]),
    ("docker run -v /:/host a rm -rf /host/etc", "", ["'rm' '-rf' '/etc'"]),
    ("docker run -v /:/host a rm -rf /host", "", ["'rm' '-rf' '/'"]),
    ("docker run a rm -rf /x", "", []),
    ("docker ps", "", []),
    ("docker exec db rm -rf /data", "", ["'rm' '-rf' '/data'"]),
    ("docker exec db sh -c 'rm -rf /data'", "", ["'sh' '-c' 'rm -rf /data'"]),
    ("docker exec db sh -c ls", "", []),
    (
        "docker run --mount=type=bind,source=/etc,target=/e a rm -rf /e/x",
        "",
        ["'rm' '-rf' '/etc/x'"],
    ),
    ("kubectl exec pod -- rm x", "", ["'rm' 'x'"]),
    ("kubectl get pods -- rm x", "", []),
    ("ansible all -a 'rm x'", "", ["rm x"]),
    ("ansible all --args='rm x'", "", ["rm x"]),
    ("ansible all -m file -a 'path=/x state=absent'", "", ["path=/x state=absent", "rm -rf '/x'"]),
    ("gcloud compute ssh h --command date", "", ["date"]),
    ('aws ssm send-command commands=\'["date","who"]\'', "", ["date", "who"]),
    ("aws ssm send-command commands=date", "", ["date"]),
    ("faketime yesterday date", "", ["'date'"]),
    ("pdsh -w h rm -rf x", "", ["'rm' '-rf' 'x'"]),
    ("watchexec -- rm -rf x", "", ["'rm' '-rf' 'x'"]),
    ("watchexec ls", "", []),
    ("xterm -e 'rm -rf x'", "", ["rm -rf x"]),
    ("ls -l", "rm -rf /\n", []),
]


@pytest.mark.parametrize(("command", "given", "expected"), TEXTS)
def test_the_shell_texts_of_a_program(command, given, expected):
    assert list(embedded_commands(shlex.split(command), given)) == expected


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"EDITOR": "date"}, ["date"]),
        ({"LESSOPEN": "|date %s"}, ["date %s"]),
        ({"GIT_SSH_COMMAND": "date"}, ["date"]),
        ({"MAKEFLAGS": "--eval=x"}, ["make '--eval=x'"]),
        ({"PERL5OPT": "-e"}, ["perl '-e'"]),
        ({"LANG": "C", "EDITORS": "date"}, []),
    ],
)
def test_variables_whose_value_is_a_command(variables, expected):
    assert list(commands_in_variables(variables)) == expected


@pytest.mark.parametrize(
    ("path", "content", "expected"),
    [
        ("/home/u/.bashrc", "date\n", ["date\n"]),
        ("/home/u/.zshrc", "PROMPT_COMMAND='date'\n", ["PROMPT_COMMAND='date'\n", "date"]),
        ("/home/u/.profile", 'PS1="date"\n', ['PS1="date"\n', "date"]),
        ("/w/.git/hooks/pre-commit", "date\n", ["date\n"]),
        ("/home/u/.config/autostart/x.sh", "date\n", ["date\n"]),
        ("/home/u/x.service", "[Service]\nExecStart=-date\nUser=u\n", ["date"]),
        ("/home/u/x.desktop", "Exec=date\n", ["date"]),
        ("/home/u/notes", "date\n", []),
    ],
)
def test_files_that_are_run_at_the_next_start(path, content, expected):
    assert list(startup_commands(path, content)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rm -rf x", True),
        ("!rm x", True),
        ("/bin/rm x", True),
        ("sh -c x", True),
        ("exec rm x", True),
        ("hello rm", False),
        ("remove x", False),
        ("", False),
    ],
)
def test_a_text_begins_like_a_command_that_could_do_harm(text, expected):
    assert is_command_text(text) is expected
