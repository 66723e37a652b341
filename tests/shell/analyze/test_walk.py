"""Everything that a command would run is found, wherever it hides."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.support.random_commands import random_command
from tests.support.shell import flat, ran, tree

from handrail.core.commands import UnreadableCommand
from handrail.shell.analyze.walk import flatten


def doubts(command):
    return [reason.text for reason in flat(command).doubts]


@pytest.mark.parametrize(
    "command",
    [
        "ls; rm x",
        "ls && rm x",
        "ls || rm x",
        "ls | rm x",
        "ls |& rm x",
        "ls & rm x",
        "ls\nrm x",
        "ls;rm x",
        "(rm x)",
        "{ rm x; }",
        "! rm x",
        "time rm x",
        "time -p rm x",
        "time -- rm x",
        "echo $(rm x)",
        "echo `rm x`",
        'echo "`rm x`"',
        'echo "a $(rm x) b"',
        "echo ${y:-$(rm x)}",
        "y=${z:-`rm x`}",
        "echo ${y/`rm x`/b}",
        'echo "${y#$(rm x)}"',
        "echo ${y:$(rm x):2}",
        "echo ${y[$(rm x)]}",
        "y[$(rm x)]=1",
        "((y[`rm x`]))",
        "echo $(( $(rm x) + 1 ))",
        "echo $(echo $(echo `rm x`))",
        "y=$(rm x)",
        "y=$(rm x) ls",
        "y+=($(rm x))",
        "export y=$(rm x)",
        "declare -a y=($(rm x))",
        "cat <(rm x)",
        "ls > >(rm x)",
        "ls > $(rm x)",
        "cat <<E\n$(rm x)\nE",
        "cat <<E\n`rm x`\nE",
        'cat <<< "$(rm x)"',
        "if rm x; then :; fi",
        "if :; then rm x; fi",
        "if :; then :; elif :; then rm x; fi",
        "if :; then :; else rm x; fi",
        "while rm x; do :; done",
        "until :; do rm x; done",
        "for y in a; do rm x; done",
        "for y in $(rm x); do :; done",
        "for ((i = $(rm x); i < 1; i++)); do :; done",
        "select y in a; do rm x; done",
        "case $(rm x) in a) ;; esac",
        "case a in $(rm x)) ;; esac",
        "case a in a) rm x;; esac",
        "[[ a == $(rm x) ]]",
        "[[ a =~ (b|$(rm x)) ]]",
        "[[ -f $(rm x) ]]",
        "(( $(rm x) ))",
        "let y=$(rm x)",
        "f() { rm x; }; f",
        "function f { rm x; }",
        "coproc rm x",
        "coproc c { rm x; }",
        "r\\m x",
        'r""m x',
        "r\\\nm x",
        "$'\\x72m' x",
        "{rm,x}",
        "echo {a,$(rm x)}",
        'echo $"$(rm x)"',
        "ls # a\nrm x",
        "eval rm x",
        "eval 'rm x'",
        'eval "ls; rm x"',
        "trap 'rm x' EXIT",
        "bash -c 'rm x'",
        "sh -ec 'ls; rm x'",
        "bash --norc -c 'rm x'",
        "bash -norc -c 'rm x'",
        "bash +x -o pipefail -c 'rm x'",
        'bash -lc "bash -c \'sh -c \\"rm x\\"\'"',
        "busybox sh -c 'rm x'",
        "busybox rm x",
        "bash <<< 'rm x'",
        "bash <<E\nrm x\nE",
        "bash -s a b <<'E'\nrm x\nE",
        "{ bash; } <<< 'rm x'",
        "echo 'rm x' | sh",
        "echo rm x | bash -",
        "printf 'rm x\\n' | sh",
        "printf '%s %s\\n' rm x | sudo sh",
        "cat <<E | sh\nrm x\nE",
        "echo 'rm x' | { ls; sh; }",
        "bash <(echo 'rm x')",
        ". <(echo 'rm x')",
        "source /dev/stdin <<< 'rm x'",
        "ssh -p 22 host rm x",
        "ssh host 'rm x'",
        "ssh host <<< 'rm x'",
        "su -c 'rm x'",
        "su - root -c 'rm x'",
        "sudo -s 'rm x'",
        "watch -n 1 'rm x'",
        "watch rm x",
        "script -qc 'rm x' /dev/null",
        "flock lock -c 'rm x'",
        "parallel rm x ::: a",
    ],
)
def test_a_program_is_found_wherever_it_hides(command):
    assert [one[:2] for one in ran(command)].count(["rm", "x"]) == 1


@pytest.mark.parametrize(
    ("command", "doubt"),
    [
        ("$x y", "name is computed"),
        ("x=rm; $x y", "name is computed"),
        ("$(echo rm) y", "name is computed"),
        ("`echo rm` y", "name is computed"),
        ("r$x y", "name is computed"),
        ("/bin/r? y", "name is computed"),
        ("{r..s}m y", "name is computed"),
        ("env $x y", "name is computed"),
        ("find . -exec {} ;", "name is computed"),
        ("xargs -I{} {} y", "name is computed"),
        ("bash -c '\"$@\"' _ rm y", "name is computed"),
        ("f() { $1; }; f rm", "name is computed"),
        ('bash -c "rm $x"', "put together"),
        ('eval "$x"', "put together"),
        ("eval $(cat y)", "put together"),
        ("eval *", "put together"),
        ("xargs -I{} sh -c 'rm {}'", "put together"),
        ("find . -exec sh -c 'cat {}' ;", "put together"),
        ("echo -e 'r\\x6d y' | sh", "put together"),
        ("curl u | sh", "what it reads"),
        ("curl u | sudo bash -s -- -y", "what it reads"),
        ("bash < y", "what it reads"),
        ("cat y | bash", "what it reads"),
        ("su", "what it reads"),
        ("sudo -s", "what it reads"),
        (". <(curl u)", "not known"),
        ("bash <(curl u)", "not known"),
        ("bash $x", "not known"),
        ("xargs sh -c", "from elsewhere"),
        ("xargs env", "from elsewhere"),
        ("xargs nice", "from elsewhere"),
        ("xargs find .", "from elsewhere"),
        ("bash -c 'ls ('", "cannot be read"),
        ("zsh -c 'ls'", "does not read text as bash"),
        ("sh -c '[[ a < b ]]'", "may not read"),
        ("dash -c 'ls &> x'", "may not read"),
        ("bash --rcfile y", "runs the file"),
        ("bash --surprise -c ls", "not understood"),
        ("alias ls=rm; ls", "alias"),
        ("shopt -s expand_aliases", "aliases"),
        ("hash -p ./rm ls; ls", "bound"),
        ("enable -f ./x.so y", "loaded"),
        ("compgen -W '$(rm x)'", "completion"),
        ("mapfile -C 'rm x' a", "callback"),
        ("declare -n p=PATH; p=.", "stands for another"),
        ("declare -i x", "arithmetic"),
        ("BASH_CMDS[ls]=./x; ls", "of this variable"),
        ("PS4='$(rm x)'; set -x; ls", "of this variable"),
        ("for ENV in ./x; do sh; done", "of this variable"),
        ("read BASH_ENV < y", "of this variable"),
        ("x='a[$(rm y)]'; echo $((x))", "evaluated as arithmetic"),
        ("read x < y; echo $((x + 1))", "evaluated as arithmetic"),
        ("x='a[$(rm y)]'; [[ $x -eq 1 ]]", "evaluated as arithmetic"),
        ("x='a[$(rm y)]'; echo ${!x}", "evaluated as arithmetic"),
        ("x='a[$(rm y)]'; echo ${z[x]}", "evaluated as arithmetic"),
        ("[ -v 'a[$(rm x)]' ]", "subscript"),
        ("printf -v 'a[$(rm x)]' b", "subscript"),
        ("read 'a[$(rm x)]'", "subscript"),
        ("unset 'a[`rm x`]'", "subscript"),
        ("y=$z; echo $((y))", "evaluated as arithmetic"),
        ("env BASH_ENV=x bash -c ls", "of this variable"),
        ('read "$x"', "name is computed"),
        ('export "$x"', "name is computed"),
        ("unset $x", "name is computed"),
        ('printf -v "$x" y', "name is computed"),
        ("bash -ic ls", "interactive"),
        ("echo '#rm y' | { read -N1; sh; }", "put together"),
        ("echo '#rm y' | bash -c 'read -N1; sh'", "put together"),
        ("echo ls | { exec < y; sh; }", "put together"),
        ("printf 'read -N1 x\\n#rm y\\n' | sh", "read the same"),
        ("echo() { cat y; }; echo ls | sh", "takes the place"),
        ("ls | time ls", "called time"),
        ("echo $(coproc ls)", "coproc"),
        ("env -S 'rm $x'", "rules of its own"),
        ("sudo --surprise ls", "not understood"),
        ("nice -z ls", "not understood"),
        ("xargs --max ls", "not understood"),
        ("timeout $x ls", "not known"),
        ("parallel ls", "shell text"),
        ("if x; then f() { :; }; fi; f", "may not hold"),
        ("(f() { :; }); f", "may not hold"),
        ("f; f() { :; }", "may not hold"),
        ("f() { :; }; f() { ls; }", "may not hold"),
        ("f() { :; }; env f", "by another program"),
        ("f() { :; }; command f", "by another program"),
        ("f() { :; }; unset -f f; f", "unset"),
    ],
)
def test_what_cannot_be_followed_is_a_doubt(command, doubt):
    assert [text for text in doubts(command) if doubt in text] != []


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "cd src && ls -l | head -3",
        "bash -lc 'git status'",
        "sh -c 'ls; pwd'",
        "env A=1 timeout 5 ls",
        "find . -name '*.py' -exec grep -l x {} +",
        "ls | xargs -n1 wc -l",
        'for f in *.py; do wc -l "$f"; done',
        "i=0; while ((i < 3)); do echo $i; i=$((i + 1)); done",
        "f() { ls \"$1\"; }; f x; eval 'f y'",
        "[ -f x ] && cat x",
        "[[ $x -gt 3 ]] && ls",
        "echo 'ls' | sh",
        "command -v git",
        'x=$(git rev-parse HEAD); echo "$x"',
        'test -n "$x" || exit 1',
        "trap 'ls' EXIT",
        "echo ${x:-y} ${#x} {a,b}",
        'export A="$x" B=$(pwd)',
        "read -r line < x; echo $line",
        "for i in {1..3}; do echo $((i * 2)); done",
        "printf '[%s]' $x",
    ],
)
def test_an_honest_command_raises_no_doubt(command):
    assert doubts(command) == []


def test_functions_are_listed_with_their_bodies_where_they_are_defined():
    found = flat("f() { rm x; }; f; f | cat")

    assert found.functions == {"f"}
    assert [(one.program, one.function) for one in found.invocations] == [
        ("rm", "f"), ("f", None), ("f", None), ("cat", None),
    ]  # fmt: skip


def test_a_pipe_tells_who_feeds_whom():
    found = flat("curl u | tee y | sudo sh -s")

    feeds = {one.program: [fed.program for fed in one.piped_from] for one in found.invocations}
    assert feeds == {"curl": [], "tee": ["curl"], "sudo": ["tee"], "sh": ["tee"]}


def test_redirects_of_a_construct_are_kept_without_a_program():
    found = flat("{ ls; cat; } > out 2>&1")

    bare = found.invocations[0]
    assert (bare.words, [one.target.value for one in bare.redirects]) == ((), ["out", "1"])


def test_names_that_a_construct_sets_are_assignments():
    found = flat("for PATH in a b; do ls; done; echo ${LD_PRELOAD:=x}; ((n = 1)); {fd}> y")

    names = {one.name for invocation in found.invocations for one in invocation.assignments}
    assert names == {"PATH", "LD_PRELOAD", "n", "fd"}


@pytest.mark.parametrize(
    "command",
    [
        "PATH=. ls",
        "PATH=.",
        "export PATH=.",
        'export "PATH=."',
        "command export PATH=.",
        "declare -x PATH=$x",
        "read -r -p 'a b' PATH",
        "read -a PATH",
        "mapfile -t PATH",
        "printf -v PATH .",
        "printf -vPATH .",
        "unset PATH",
        "getopts a PATH",
        "eval PATH=.",
        "for PATH in .; do ls; done",
        "ls ${PATH:=.}",
        "((PATH = 1))",
    ],
)
def test_a_variable_that_is_set_in_any_way_is_an_assignment(command):
    names = {one.name for found in flat(command).invocations for one in found.assignments}

    assert "PATH" in names


def test_variables_of_a_wrapper_count_for_what_it_runs():
    found = flat("A=1 env B=2 bash -c 'C=3 ls; pwd'")

    assert {one.program: [a.name for a in one.assignments] for one in found.invocations} == {
        "env": ["A"], "bash": ["A", "B"], "ls": ["A", "B", "C"], "pwd": ["A", "B"],
    }  # fmt: skip


def test_marks_are_set_on_what_runs_in_the_background_elsewhere_or_in_between():
    found = flat("ls & ssh host 'echo $(id)'; find . -exec wc {} +; while :; do :; done")

    marks = {
        one.program: (one.background, one.remote, one.in_substitution, one.extra_arguments)
        for one in found.invocations
    }
    assert marks["ls"] == (True, False, False, False)
    assert marks["id"] == (False, True, True, False)
    assert marks["echo"] == (False, True, False, False)
    assert marks["wc"] == (False, False, False, True)
    assert found.may_loop_forever


def test_a_wrapper_that_only_names_a_file_does_not_wrap():
    found = flat("bash build.sh; . ./env.sh; xargs; env")

    assert [one.is_wrapper for one in found.invocations] == [False] * 4


def test_too_much_to_follow_is_refused():
    many = "; ".join(f"bash -c 'echo {n}'" for n in range(100))
    wrapped = "env " * 50 + "ls"

    for command in (many, wrapped, "ls;" * 6000, "echo " + "{a,b}{a,b}{a,b}{a,b}{a,b} " * 500):
        with pytest.raises(UnreadableCommand):
            flat(command)


def test_texts_inside_texts_end_somewhere():
    command = "ls"
    for _ in range(12):
        command = f"bash -c {quoted(command)}"

    try:
        found = flat(command)
    except UnreadableCommand:
        return
    assert found.invocations[-1].program == "ls"


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


SHELLISH = st.text("ab'\"\\$`(){}[]<>|&;#!=*?~ \n\t-0@%+,.:/", max_size=30)


@settings(max_examples=150, deadline=None, database=None)
@given(st.one_of(SHELLISH, st.text(max_size=20), st.randoms().map(random_command)))
def test_any_text_is_followed_or_refused_and_never_crashes(command):
    try:
        flatten(tree(command), tree)
    except UnreadableCommand as error:
        assert str(error)


WRAPS = (
    "{}", "( {})", "{{ {}; }}", "if {}; then :; fi", "while {}; do :; done", "echo $({})",
    "! ( {})", "x=$({})", "cat <({})", "for i in a; do {}; done", "case a in a) {};; esac",
    "f() {{ {}; }}", "echo \"$({})\"", "{} > /dev/null", "{} & :", ": && {}", ": | {}", "eval {q}",
    "bash -c {q}", "trap {q} EXIT", "sh -c {q}", "echo {q} | sh", "{{ cat <<E\n$({})\nE\n}}", "su -c {q}",
)  # fmt: skip
SIMPLE = (
    "{}", "env {}", "env -i A=1 {}", "nohup {}", "command {}", "exec {}", "nice -n 3 {}", "A=1 {}",
    "timeout -s KILL 5 {}", "xargs -0 -n 1 {}", "find . -exec {} ;", "sudo -u root {}", "{} a > b",
    "stdbuf -oL {}", "setsid -w {}", "busybox {}", "time {}", "strace -f -o x {}", "fd -x {}",
)  # fmt: skip


@settings(max_examples=60, deadline=None, database=None)
@given(
    st.lists(st.tuples(st.sampled_from(SIMPLE), st.lists(st.sampled_from(WRAPS), max_size=3)),
             min_size=1, max_size=3),
    st.sampled_from(["; ", " && ", " || ", "\n", " & "]),
)  # fmt: skip
def test_every_program_of_a_compound_command_is_found(parts, joint):
    texts = []
    for number, (form, wraps) in enumerate(parts):
        text = form.replace("{}", f"prog{number} arg").replace(" ;", " \\;")
        for wrap in wraps:
            text = wrap.replace("{q}", quoted(text)) if "{q}" in wrap else wrap.format(text)
        texts.append(text)

    try:
        found = flat(joint.join(texts))
    except UnreadableCommand as error:
        # Not every form may stand in every other: `echo $(( ls))` is no sum.
        assume("no valid command" not in str(error))
        raise

    # The same inside a text that is run: there it is a doubt.
    assume(not any("no valid command" in doubt.text for doubt in found.doubts))
    names = {one.program for one in found.invocations}
    assert {f"prog{number}" for number in range(len(parts))} <= names
