"""Words that the shell makes several of: the second one stands where something else is meant."""

import pytest
from tests.support.commands import ROOT, WHERE, parser

from handrail.core.commands import CommandClass
from handrail.shell.analyzer import ShellCommandAnalyzer

ANALYZER = ShellCommandAnalyzer(parser(), lambda cwd: WHERE._replace(cwd=cwd))


def safety_class(command):
    return ANALYZER.analyze(command, cwd=ROOT, env={}).safety_class


@pytest.mark.parametrize(
    ("safe", "other"),
    [
        # The second file is written.
        ("uniq a.txt", "uniq a*"),
        ("uniq 'a*'", "uniq ./a?"),
        ("xxd src/a", "xxd src/*"),
        ("uniq -f 1 a", "uniq -f a* b"),
        ("uniq < a", "uniq {1..3}"),
        ("find . -exec wc -l {} +", "find . -exec uniq {} +"),
        ("find . -exec xxd -l 9 a \\;", "find . -exec xxd {} +"),
        # A second word changes what is otherwise shown.
        ("git config user.name", "git config user*"),
        ("git symbolic-ref HEAD", "git symbolic-ref H*"),
        ("git symbolic-ref HEAD", "find . -exec git symbolic-ref HEAD {} \\;"),
        ("mount", "find . -exec mount {} \\;"),
        ("ifconfig eth0", "ifconfig e*"),
    ],
)
def test_one_word_is_looked_at_and_a_second_one_is_changed(safe, other):
    assert safety_class(safe) is CommandClass.SAFE
    assert safety_class(other) > CommandClass.SAFE


@pytest.mark.parametrize(
    ("safe", "other"),
    [
        ("grep foo* src", "grep -v ~/.ssh/*"),
        ("grep '/etc/*' src", "grep /etc/pass* src"),
        ("grep -e foo* src", "grep -ve ~/.ssh/*"),
        ("rg --type py x", "rg --type /opt/* py"),
        ("jq .[] a.json", "jq /etc/*"),
        ('grep "$(git ls-files)" a', "grep -v $(echo x /etc/shadow)"),
        ("grep -v x a", 'a=(x /etc/shadow); grep -v "${a[@]}"'),
        ("grep -v x a", 'f() { grep -v "$@"; }; f x /etc/shadow'),
    ],
)
def test_the_files_behind_a_pattern_are_read(safe, other):
    assert safety_class(safe) is CommandClass.SAFE
    assert safety_class(other) is CommandClass.DANGEROUS


@pytest.mark.parametrize(
    ("safe", "other"),
    [
        ("timeout 5 ls", "timeout ./* ls"),
        ("nice -n 5 ls", "nice -n ./* ls"),
        ("nice -n 5 ls", "X='1 rm a'; nice -n $X ls"),
        ("nice -n 5 ls", 'f() { nice -n "$@" ls; }; f 1 rm a'),
        ("exec -a x ls", "exec -a ./* ls"),
        ("stdbuf -o L ls", "stdbuf --output ./* ls"),
        ('env LANG="$X" ls', "X='C rm a'; env LANG=$X ls"),
        ("git -C src log", "git -C s* log"),
    ],
)
def test_the_word_behind_a_value_may_be_the_program(safe, other):
    assert safety_class(safe) is CommandClass.SAFE
    assert safety_class(other) is CommandClass.DANGEROUS


@pytest.mark.parametrize(
    "command",
    [
        "find . -exec git log --output={} \\;",
        "find . -exec rg --pre={} x \\;",
        "find . -exec sort -o{} \\;",
        "find . -exec sort --compress-program={} a \\;",
    ],
)
def test_what_a_search_finds_is_no_end_of_an_option(command):
    assert safety_class(command) is CommandClass.DANGEROUS


@pytest.mark.parametrize(
    ("safe", "other"),
    [
        (
            "find . -name a.py -exec cat {} \\;",
            "find . -name a.py -exec cat $(echo /etc/shadow) \\;",
        ),
        ("find . -name a.py -exec cat $(git ls-files) {} \\;", 'find . -exec cat "$X" {} \\;'),
        ("find . -exec rg x {} \\;", "X='--pre=./evil x'; find . -exec rg $X {} \\;"),
        ("find . -exec git diff HEAD {} \\;", "find . -exec git diff $(echo --output=x) \\;"),
        ("ls | xargs cat", "ls | xargs cat $(echo /etc/shadow)"),
        ("ls | xargs -I% cat %", "ls | xargs -I% cat % $X"),
        # A file of the workspace may be called passwd.
        ("find . -name a.py -exec cat src/{} \\;", "find . -name a.py -exec cat /etc/{} \\;"),
        ("find . -name a.py -exec cat {}/a \\;", "find . -name a.py -exec cat {}/../../../a \\;"),
        ("find . -name a.py -exec cat ./{} \\;", "find . -name a.py -exec cat ~/{} \\;"),
        ("find . -name a.py -exec cat {}.bak \\;", "find . -name a.py -exec cat .{} \\;"),
        ("find . -name a.py -exec cat a.{} \\;", "find . -name a.py -exec cat {}./a \\;"),
        ("find . -name a.py -exec cat {}/{} \\;", "find . -name a.py -exec cat {}{}/a \\;"),
        ("cat src/$(git ls-files)", "cat ../$(git ls-files)"),
        ("ls | xargs -I% cat src/%", "ls | xargs -I% cat /etc/%"),
        ("ls | xargs -I% cat src/%", "ls | xargs -I% cat $(echo ../)%"),
    ],
)
def test_only_what_is_put_in_the_place_was_found(safe, other):
    assert safety_class(safe) is CommandClass.SAFE
    assert safety_class(other) is CommandClass.DANGEROUS


@pytest.mark.parametrize(
    "command",
    [
        "ls *.py",
        "cat src/*",
        "cd s*",
        "tr [a-z] [A-Z]",
        "find . -name a*",
        "date -d @$((60 * 60))",
        "head -n $((2 + 3)) src/*",
        "git diff HEAD~1 -- src/*",
        'for f in *.py; do wc -l "$f"; done',
        "find . -name '*.py' -exec grep -n x {} +",
        "find . -name '*.py' | xargs -I % wc -l %",
    ],
)
def test_patterns_are_safe_where_all_their_files_are_only_read(command):
    assert safety_class(command) is CommandClass.SAFE


@pytest.mark.parametrize(
    ("safe", "other"),
    [
        ("xmllint --noout a.xml", "xmllint --noout http://example.org/a.xml"),
        ("tar tvf a.tar", "tar tvf a.tar -A b.tar"),
        ("tokei src", "sloccount src"),
        ("tokei src", "cloc a.tar.gz"),
        # A file of that name is written.
        ("ls 2>&-", "ls > -"),
        ("ls > /dev/null", "ls &> -"),
        ("sort -o /dev/stdout a", "sort -o - a"),
        ("tee", "tee -"),
        # The number of letters is put into PATH, and programs are looked for in ./0.
        ("printf '100%%n %(%Y)T %-5.3s%qn'", "printf '%n' PATH; ls"),
        ("printf %s PATH", "printf a%5.3ln PATH"),
        ('F=%s; printf "$F" PATH', 'F=%n; printf "$F" PATH; ls'),
        ("printf -- '-%.0s' {1..9}", "printf -- '-%n' PATH; ls"),
        ("printf -- '-%s' \"$(ls)\"", 'printf -- "$(echo %n)" PATH; ls'),
        ("git branch --format='%(refname)'", "git branch --format='%(signature)'"),
    ],
)
def test_some_arguments_make_a_looker_do_more(safe, other):
    assert safety_class(safe) is CommandClass.SAFE
    assert safety_class(other) > CommandClass.SAFE


@pytest.mark.parametrize(
    ("safe", "other"),
    [
        ("git log -S x", "git log -S $(echo x --output=y)"),
        ('git log -S "$(git rev-parse HEAD)"', "git log -n $(echo 1 --output=y)"),
    ],
)
def test_behind_a_computed_value_there_may_be_options(safe, other):
    assert safety_class(safe) is CommandClass.SAFE
    assert safety_class(other) is CommandClass.DANGEROUS


@pytest.mark.parametrize(
    ("safe", "other"),
    [
        ("git config --get core.fsmonitor", "git config core.fsmonitor ./evil --get"),
        ("git config --get alias.x", "git config alias.x --get"),
        ("unzip -l a.zip f", "unzip a.zip f -l"),
        ("xxd -p a", "xxd a -p"),
        ("ifconfig -a", "ifconfig eth0 -a"),
    ],
)
def test_an_option_behind_an_operand_may_be_none(safe, other):
    assert safety_class(safe) is CommandClass.SAFE
    assert safety_class(other) > CommandClass.SAFE


@pytest.mark.parametrize(
    "command",
    [
        # They run what they read, or load what the workspace says, and answer afterwards.
        "echo 'exec touch a' | tclsh --version",
        "ghci -v",
        "jshell -v",
        "as -v",
        "flake8 --version",
        "flask --help",
        "webpack --version",
        "composer --version",
        "latexmk -version",
        "vagrant version",
        "ansible version",
        "echo 'touch a' | batch -V",
    ],
)
def test_a_question_that_does_more_than_ask_is_not_safe(command):
    assert safety_class(command) > CommandClass.SAFE


@pytest.mark.parametrize(
    "command",
    [
        *("python3 --version", "ruby -v", "perl -v", "lua -v", "ghci --version", "gcc -v"),
        *("as --version", "mypy --version", "tsc -v", "vagrant --version", "ffmpeg -version"),
        *("make --version", "docker --version", "sudo -V", "terraform version"),
    ],
)
def test_who_a_program_is_may_be_asked(command):
    assert safety_class(command) is CommandClass.SAFE


@pytest.mark.parametrize(
    ("safe", "other"),
    [
        # Ruby says its version and runs what else it is told.
        ("ruby -v", "echo x.rb | xargs ruby -v"),
        ("npm -l", "echo install x | xargs npm -l"),
        # The page is shown by a program that the repository may name.
        ("git worktree -h", "git worktree --help"),
        ("git --help", "git --help --help"),
        ("git --version", "git -v --help"),
        ("find . -exec python3 --version \\;", "ls | xargs python3 --version"),
    ],
)
def test_a_question_is_one_only_if_it_is_all_that_is_said(safe, other):
    assert safety_class(safe) is CommandClass.SAFE
    assert safety_class(other) > CommandClass.SAFE
