"""Mutated commands: nothing crashes, and what is called safe is safe to a second opinion."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from tests.support.commands import parser
from tests.support.mutants import directly, examine, mutants
from tests.support.recheck import Suspicious, recheck

from handrail.core.commands import UnreadableCommand

BATCH = 5_000
MILLION = 1_000_000


@pytest.mark.parametrize("seed", range(3))
def test_mutated_commands_are_judged_and_safe_ones_are_safe(seed):
    safe, strange = examine(seed, 150)

    assert strange == []
    # Else the second opinion would have nothing to say.
    assert safe >= 20


@pytest.mark.torture
def test_a_million_mutated_commands_are_judged_and_safe_ones_are_safe():
    seeds = range(1_000, 1_000 + MILLION // BATCH)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        answers = list(pool.map(examine, seeds, [BATCH] * len(seeds)))

    assert [one for _, strange in answers for one in strange] == []
    assert sum(safe for safe, _ in answers) > MILLION // 10


def test_the_quick_way_to_the_parser_gives_the_same_trees():
    quick, slow = directly(), parser()

    for command in filter(is_text, mutants(2, 150)):
        assert outcome(quick, command) == outcome(slow, command)


def is_text(command):
    return command.isprintable()


def outcome(reader, command):
    try:
        return reader.parse(command)
    except UnreadableCommand:
        return None


def test_mutants_differ_and_can_be_made_again():
    first, again = list(mutants(1, 200)), list(mutants(1, 200))

    assert first == again
    assert len(set(first)) > 180


@pytest.mark.parametrize(
    "command",
    [
        "rm a",
        "ls; rm a",
        "ls\nrm a",
        "ls > a",
        "ls 2>>a",
        "echo $(touch a)",
        'echo "`touch a`"',
        "cat <(touch a)",
        "echo ${x:-$(touch a)}",
        "cat <<X\n$(touch a)\nX",
        "find . -delete",
        "find . -exec rm {} +",
        "xargs rm",
        "env A=1 rm a",
        "sed -i s/a/b/ a",
        "LD_PRELOAD=x ls",
        "curl x",
        "python -c 1",
        """awk '{print | "tee a"}' b""",
        """awk '{print | "sort -o a"}' b""",
        """awk '{print | "sort " $1}' b""",
        """awk '{print | $1}' b""",
        """awk '{print | "s\\x68"}' b""",
        """awk '{"id" | getline x; print x}' b""",
        "./ls",
        "git -c a=b status",
        "git push",
        "tar xf a",
        "sort -o a b",
        "IFS=_ ls",
        "IFS=_; read a",
        'echo $(wc -l < ")"; touch a)',
        'echo "$(ls ")" | tee a)"',
        "read() { ls; }; IFS=_ read a",
        "rg --type py --pre x",
        "rg --type=py --search-zip x",
        "sort -ofile b",
        "sort --outp=a b",
        "sort $(ls)",
        "sort *",
        "sort {-o,a}",
        "xargs sort -o",
        "uniq a b",
        "uniq a*",
        "find . -exec uniq {} +",
        "find . -exec rg --pre={} x \\;",
        "xxd a -p",
        "sed -i.bak s/a/b/ a",
        "sed -n '1w out' a",
        "sed 's/a/b/e' a",
        "sed -f a b",
        "tar tf host:a",
        "tar tf a.tar -A b",
        "tar -tf a --to-command=sh",
        "unzip a",
        "unzip a f -l",
        "gunzip -v a",
        "bat cache --build",
        "bat --paging=always a",
        "pip list --outdated",
        "pip list --log a",
        "pip8 install a",
        "npm ls --script-shell=a",
        "date 01020304",
        "date -s now",
        "getent hosts a",
        "xmllint http://example.org",
        "export PATH=.",
        "env PATH=. ls",
        "env -S ls",
        "nice -n ./* ls",
        "timeout $X ls",
        "xargs python3 -V",
        "./ls --version",
        "nobody-knows --version",
        "man ls",
        "git branch a",
        "git branch -D a",
        "git tag a",
        "git stash",
        "git remote show origin",
        "git config a.b c",
        "git config a.b --get",
        "git symbolic-ref HEAD refs/heads/a",
        "git reflog expire",
        "git -C ../a log",
        "git log --outpu=a",
        "git log -S -- --output=a",
        "git log -S $(ls)",
        "git log --format=%G?",
        "git grep -Oless a",
        "git help log",
        "printf %n PATH",
        "ls > -",
        "ls &> - -l",
        "X=-o; sort $X a",
        "X=a; X=-o; sort $X a",
        "X=a; read X; sort $X a",
        "for X in -o; do sort $X a; done",
        "printf -- '%5ln' PATH",
        "eval ls",
        "cat < /dev/tcp/a/1",
    ],
)
def test_the_second_opinion_sees_what_does_more_than_look(command):
    with pytest.raises(Suspicious):
        recheck(command)


@pytest.mark.parametrize(
    "command",
    [
        "ls -la | grep 'rm -rf' | wc -l",
        "cat a 2>/dev/null || echo none",
        "[[ a < b && -d src ]] && ls src",
        "cat <<'X'\n$(touch a)\nX",
        'for f in *.py; do wc -l "$f"; done',
        "echo $(git log -1)",
        "find . -name '*.py' | xargs grep -n rm",
        """awk '{print $1 | "sort -rn"}' a""",
        """awk '{a[$1]++} END {for (i in a) print a[i], i | "sort -n | head"; print "||"}' a""",
        "python3 --version",
        # Without their values these options are refused; without an archive there is help.
        "sort -o | uniq",
        "sort --output",
        "unzip -o",
        "tar tvf a.tar b",
        "tar tf --rsh-command=a",
        "git -C -X --no-pager log",
        "git -- push",
        "git grep -nmTODO a",
        "git log -S x -- src log --output=a",
        "git config --get user.name a",
        "git branch --list 'a*'",
        "git branch a -la",
        "git tag -n a",
        "time -p sort a",
        "cat <<X\n$(git log --format='%(h')\nX",
        "X=r; sort $X",
        "find . -fprint0",
        "ls &>/dev/null -l",
        "> <(ls)",
        "< \\\n gradle test",
        "git config --get user.name a */",
        "bat -r src",
        "pip8 check",
        "sed -n '/a/,$s/b/c/gp' a",
        "xargs -0iptables wc -l",
        "uniq 'a*'",
        "find . -exec uniq {} \\;",
        "find . -name -delete",
        "rm --help",
        "printf '100%%n'",
        "while IFS=_ read -r a b; do echo a; done",
        "rg --type --pre x",
        "rg --glob --search-zip x",
        'echo "a: $(wc -l < "))")"; ls',
        'echo $(echo "$(ls ")")" b)',
    ],
)
def test_the_second_opinion_lets_what_only_looks_pass(command):
    recheck(command)


def test_the_second_opinion_knows_where_a_command_runs_until_it_moves():
    places = {"PWD": "/home/u/app", "HOME": "/home/u"}
    recheck('awk "{print \\"$PWD\\"}" a', places)
    recheck('echo $(awk "{print \\"$HOME\\"}" a)', places)

    for command in (
        'awk "{print \\"$PWD\\"; system(\\"id\\")}" a',
        'cd b && awk "{print \\"$PWD\\"}" a',
        'while true; do awk "{print \\"$PWD\\"}" a; c\\d b; done',
    ):
        with pytest.raises(Suspicious):
            recheck(command, places)
