"""From text to tree: exact words, nothing lost, and refusal of all that is not understood."""

import copy
import json

import pytest
from tests.support.shell import parser, tree

from handrail.core.commands import UnreadableCommand
from handrail.shell.parse.reader import MAX_BYTES, parse_command
from handrail.shell.parse.syntax import (
    AndOrList,
    Assignment,
    Braces,
    CommandGroup,
    CompoundCommand,
    FunctionDefinition,
    Opaque,
    PipelineCommand,
    Redirect,
    Script,
    SimpleCommand,
    Statement,
    Substitution,
    Text,
    Variable,
    Word,
)


def plain(text):
    return Word(text, (Text(text),))


def simple(source, *words, **more):
    return Statement(SimpleCommand(tuple(plain(word) for word in words)), source, **more)


def words_of(command):
    command = tree(command).statements[0].command
    assert isinstance(command, SimpleCommand)
    return command.words


def test_a_command_is_read_into_its_whole_tree():
    read_tree = tree("A=1 ls -l > out && ! (cat; rm x) &")

    redirect = Redirect(">", plain("out"))
    first = Statement(
        SimpleCommand((plain("ls"), plain("-l")), (Assignment("A", plain("1")),)),
        "A=1 ls -l > out",
        (redirect,),
    )
    inner = Script((simple("cat", "cat"), simple("rm x", "rm", "x")))
    second = Statement(CommandGroup(inner, subshell=True), "! (cat; rm x)", negated=True)
    chain = AndOrList(first, "&&", second)
    assert read_tree == Script(
        (Statement(chain, "A=1 ls -l > out && ! (cat; rm x)", background=True),)
    )


def test_chains_and_pipelines_keep_their_order():
    (statement,) = tree("a | b |& c && d || e").statements

    pipe = Statement(
        PipelineCommand((simple("a", "a"), simple("b", "b"), simple("c", "c"))), "a | b |& c"
    )
    left = Statement(AndOrList(pipe, "&&", simple("d", "d")), "a | b |& c && d")
    assert statement.command == AndOrList(left, "||", simple("e", "e"))


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("rm", "rm"),
        (r"r\m", "rm"),
        ('r""m', "rm"),
        ("r''m", "rm"),
        ("r\\\nm", "rm"),
        ("r\\\\\\\nm", "r\\m"),
        ("$'r\\x6d'", "rm"),
        ("$'\\162m'", "rm"),
        ("$'\\u0072m'", "rm"),
        ("$'a\\tb\\n\\'\\\\'", "a\tb\n'\\"),
        ('"a\\"b\\$c\\d"', 'a"b$c\\d'),
        ('"a\\\nb"', "ab"),
        (r"a\ b", "a b"),
        ("'a\\b'", "a\\b"),
        ('""', ""),
        ("é", "é"),
    ],
)
def test_quotes_are_removed_and_the_source_is_kept(source, value):
    (_, word) = words_of(f"x {source}")

    assert (word.source, word.value) == (source, value)


@pytest.mark.parametrize("source", ["$'a\\cx'", "$'\\xff'", "$'\\u00e9'", "$'a\\q'", "$'\\0'"])
def test_a_quoted_text_that_depends_on_more_than_itself_has_no_value(source):
    (_, word) = words_of(f"x {source}")

    assert word == Word(source, (Opaque(source),))


def test_a_translated_text_has_no_value_but_shows_what_runs_in_it():
    (_, word) = words_of('x $"a $(rm y)"')

    (part,) = word.parts
    assert isinstance(part, Opaque)
    assert isinstance(part.inner[0].parts[1], Substitution)


def test_variables_say_whether_only_their_value_is_asked_for():
    (_, *words) = words_of('x $a "${b}" ${c:-d} ${!e} ${#f}')

    parts = [word.parts[0] for word in words]
    assert parts == [
        Variable("a", quoted=False, plain=True),
        Variable("b", quoted=True, plain=True),
        Variable("c", quoted=False, plain=False, inner=(plain("d"),), operator=":-"),
        Variable("e", quoted=False, plain=False, operator="!"),
        Variable("f", quoted=False, plain=False, operator="length"),
    ]


def test_braces_make_alternatives_and_odd_ones_are_opaque():
    (_, *words) = words_of("x a{b,c'd'}e {} {a} {1..3} '{a,b}' {a,b")

    assert words[0].parts == (
        Text("a"),
        Braces((plain("b"), Word("cd", (Text("c"), Text("d", quoted=True))))),
        Text("e"),
    )
    assert [word.value for word in words[1:]] == ["{}", "{a}", None, "{a,b}", None]


def test_a_here_document_is_the_body_of_its_redirect():
    (statement,) = tree("cat <<E\na $x\\$y\nE\n").statements

    (redirect,) = statement.redirects
    assert (redirect.operator, redirect.target) == ("<<", plain("E"))
    assert redirect.body == Word(
        "a $x\\$y\n",
        (
            Text("a ", quoted=True),
            Variable("x", quoted=True, plain=True),
            Text("$y\n", quoted=True),
        ),
    )


def test_a_quoted_here_document_is_taken_as_it_stands_without_leading_tabs():
    (statement,) = tree("cat <<-'E'\n\ta $x \\\n\t\tb\n\tE\n").statements

    assert statement.redirects[0].body.value == "a $x \\\nb\n"


def test_constructs_show_all_their_scripts_words_and_names():
    found = [one.command for one in tree(
        "if a; then b; elif c; then d; else e; fi\n"
        "for x in 1 2; do f; done\n"
        "case $y in g) h;; i) j; esac\n"
        "[[ -f k && l == m ]]\n"
        "until n; do o; done\n"
        "p() { q; }\n"
    ).statements]  # fmt: skip

    script = [Script((simple(name, name),)) for name in "abcde"]
    assert found[0] == CompoundCommand("if", tuple(script))
    assert found[1] == CompoundCommand(
        "for", (Script((simple("f", "f"),)),), (plain("1"), plain("2")), ("x",)
    )
    assert [word.source for word in found[2].words] == ["$y", "g", "i"]
    assert [word.source for word in found[3].words] == ["k", "l", "m"]
    assert found[4].kind == "until"
    assert found[5] == FunctionDefinition(
        "p", Statement(CommandGroup(Script((simple("q", "q"),)), subshell=False), "{ q; }")
    )


def test_a_declaration_keeps_its_words_and_its_assignments():
    (statement,) = tree("export -p A=b C").statements

    assert statement.command == SimpleCommand(
        (plain("export"), plain("-p"), Word("A=b", (Text("A="), Text("b"))), plain("C")),
        (Assignment("A", plain("b")), Assignment("C", None)),
        declares="export",
    )


def test_names_that_are_evaluated_or_set_in_passing_are_listed():
    script = tree('(( a = b[c] )); echo ${d:=e} $((f++)) "${g[h]}"; [[ $i -eq 1 ]]; {j}> k')

    assert script.evaluates == {"a", "b", "c", "f", "h", "i"}
    assert script.assigns == {"a", "d", "f", "j"}


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("ls\0rm", "control character"),
        ("ls\r\nrm x", "control character"),
        ("ls \x08\x08; rm x", "control character"),
        ("ls \x7f", "control character"),
        ("ls \x0b", "control character"),
        ("echo \ud800", "half of a surrogate pair"),
        ("echo '" + "a" * MAX_BYTES + "'", "longer than"),
        ("ls (", "no valid command"),
        ("echo 'a", "no valid command"),
        ("!(rm x)", "extended glob"),
        ("echo @(a|`rm x`)", "extended glob"),
        ("echo ${x:-<(rm y)}", "process substitution"),
        ("echo ${x@P}", "runs what stands in"),
        ("echo $((a['$(rm x)']))", "can run commands"),
        ("[[ -v 'a[$(rm x)]' ]]", "can run commands"),
        ("let 'a[$(rm x)]=1'", "can run commands"),
        ("+=[[ rm y", "cannot be assigned"),
        ("coproc p >x", "coproc"),
        ("coproc a b | c", "coproc"),
        ("echo ${ rm x; }", "not understood"),
        ("ls #\\\nrm -r src", "backslash"),
        ("ls x\\", "backslash"),
        ("ls x\\\\\\", "backslash"),
        (" && ".join(["a"] * 300), "chain"),
        ("(" * 60 + "a" + ")" * 60, "deep"),
    ],
)
def test_what_is_not_understood_for_certain_is_refused(command, reason):
    with pytest.raises(UnreadableCommand, match=reason):
        tree(command)


@pytest.mark.parametrize(
    "command",
    [
        "(" * 20_000 + "a" + ")" * 20_000,
        "$(" * 3_000 + "a" + ")" * 3_000,
        "a | " * 10_000 + "b",
        "if a; then b; el" * 2_000 + "if c; then d; fi",
        "echo $((" + "(" * 5_000 + "1" + ")" * 5_000 + "))",
        "[[ " + "! " * 9_000 + "a ]]",
        "echo " + "${a:-" * 5_000 + "}" * 5_000,
    ],
    ids=lambda command: command[:12],
)
def test_too_deep_a_command_is_refused_and_crashes_nothing(command):
    with pytest.raises(UnreadableCommand):
        tree(command)


@pytest.mark.parametrize(
    "command", ["echo " + "{" * 30_000 + "a,b" + "}" * 30_000, "echo " + "{a,b}" * 10_000]
)
def test_more_braces_than_anybody_writes_are_not_worked_out(command):
    (_, word) = words_of(command)

    assert word.value is None
    assert isinstance(word.parts[0], Opaque)


class Told:
    """A parser that answers what it is told."""

    def __init__(self, answer):
        self.answer = answer

    def parse(self, command):
        return self.answer


def nodes(node):
    """Every node of a tree that has a position."""
    if isinstance(node, dict):
        if "Pos" in node:
            yield node
        for value in node.values():
            yield from nodes(value)
    elif isinstance(node, list):
        for value in node:
            yield from nodes(value)


EVERYTHING = (
    "A=1 B+=2 x \"$y\" '' $'z' {a,b} $(c) <(d) $((1+e)) ${f:-g} ${h/i/j} ${k:1:2} > l 2>&1 <<M | n\n"
    "o\nM\nif p; then q; elif r; then s; fi; while t; do u; done; for v in w; do x; done\n"
    "for ((i=0;i<1;i++)); do y; done; case z in a) b;; esac; [[ c == d && -f e ]]; ((f=1)); g() { h; }\n"
    "export I=j; K=(l [1]=m); time n; coproc { o; }; let p=1; (q); r && s & ! t #u\n"
)


def refused_with(command, known, field, value):
    """Whether the text is refused once one node of its tree has this field."""
    refusals = []
    for node in list(nodes(known)):
        before = dict(node)
        if value is not None or field in node:
            node[field] = value or "Surprise"
            try:
                parse_command(command, Told(known))
                refusals.append(False)
            except UnreadableCommand:
                refusals.append(True)
        node.clear()
        node.update(before)
    return refusals


def test_a_field_that_is_not_known_makes_any_node_unreadable():
    known = copy.deepcopy(parser().parse(EVERYTHING))

    refusals = refused_with(EVERYTHING, known, "Surprise", 1)

    comments = json.dumps(known).count('"Hash"')
    assert len(refusals) > 150
    assert refusals.count(False) == comments


def test_a_type_that_is_not_known_makes_any_node_unreadable():
    known = copy.deepcopy(parser().parse(EVERYTHING))

    refusals = refused_with(EVERYTHING, known, "Type", None)

    assert len(refusals) > 60
    assert all(refusals)


@pytest.mark.parametrize(
    "answer",
    [{}, {"Stmts": 1}, {"Stmts": [1]}, {"Stmts": [{}]}, {"Stmts": [{"Cmd": []}]}, {"Type": "Word"}],
)
def test_an_answer_of_the_wrong_shape_is_refused_or_empty(answer):
    try:
        script = parse_command("ls $x", Told(answer))
    except UnreadableCommand:
        return
    assert (answer, script) == ({}, Script(()))


@pytest.mark.parametrize(
    ("word", "home"),
    [
        ("~/a", True),
        ("x=~/a", True),
        ("x=a:~/b", True),
        ("x='a':~/b", True),
        ("x=[:~/''", True),
        ("'~/a'", False),
        ("x='a:~/b'", False),
        ("a~", False),
        ("a:~/b", False),
    ],
)
def test_a_home_directory_is_seen_wherever_bash_looks_for_one(word, home):
    (statement,) = tree(f"p {word}").statements

    assert statement.command.words[1].tilde is home


@pytest.mark.parametrize(
    "target", ["'$(id)'", '"\\$(id)"', "'`id`'", "\\$x", '"$x"', "$x", "'a*'", "'~'", "a\\ b"]
)
def test_a_target_that_bash_works_out_twice_is_not_read(target):
    with pytest.raises(UnreadableCommand, match="twice"):
        tree(f"echo x >&{target}")


@pytest.mark.parametrize("target", ["1", "2", "-", "log.txt", "'log.txt'", "/dev/null", "3-"])
def test_a_plain_target_is_read(target):
    (statement,) = tree(f"echo x >&{target}").statements

    assert statement.redirects[0].target.value == target.strip("'")


@pytest.mark.parametrize(
    "command",
    [
        'echo "$\\\n(id)"',
        "cat <<E\n$\\\n(id)\nE",
        'echo "$\\\n\\\n(id)"',
        'echo "$\\\n{x@P}"',
        "echo $(\\\n(id))",
        "cat <\\\n(id)",
        "bash -c 'echo \"$\\\n(id)\"'",
    ],
)
def test_a_sign_over_two_lines_is_not_read(command):
    with pytest.raises(UnreadableCommand, match="over two lines"):
        tree(command)


def test_lines_that_go_on_after_a_word_or_an_operator_are_read():
    assert len(tree("echo a \\\n b && \\\n echo c &&\\\necho d |\\\ncat").statements) == 1


@pytest.mark.parametrize(
    "command",
    ["echo `'true'#; id`", 'echo `"true"# ; id`', "echo `a b'c'# `"],
)
def test_what_is_a_comment_only_to_the_parser_is_not_read(command):
    with pytest.raises(UnreadableCommand):
        tree(command)


@pytest.mark.parametrize(
    "command", ["ls # all", "# first\nls", "ls;# x\npwd", "(ls # in\n)", "echo a#b '#' \"#\" $#"]
)
def test_comments_are_read(command):
    assert tree(command).statements


@pytest.mark.parametrize("command", ["coproc command x=a p", "coproc x=a p"])
def test_a_coproc_that_others_read_differently_is_not_read(command):
    with pytest.raises(UnreadableCommand, match="coproc"):
        tree(command)
