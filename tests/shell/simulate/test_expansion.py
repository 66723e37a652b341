"""Parameter expansions of the simulated shell, with bash itself as the judge."""

import subprocess

import pytest
from tests.support.commands import parser

from handrail.shell.expand import UNKNOWN
from handrail.shell.parse.reader import parse_command
from handrail.shell.simulate.expansion import StateExpansion, apply_operator, concrete_word
from handrail.shell.simulate.shell_state import ShellState

VALUES = {
    "path": "/usr/local/lib/libx.so.1",
    "word": "banana",
    "mixed": "aBc dEf",
    "empty": "",
    "stars": "a*b*c",
}
EXPANSIONS = [
    *("${path#/}", "${path##*/}", "${path%/*}", "${path%%/*}", "${path#*/}", "${path%%.*}"),
    *("${path%.*}", "${path##*.}", "${path#usr}", "${path%x}", "${word#b}", "${word##b}"),
    *("${word%a}", "${word%%a}", "${word#?}", "${word%?}", "${word#*}", "${word##*}"),
    *("${word%*}", "${word%%*}", "${word#*n}", "${word##*n}", "${word%n*}", "${word%%n*}"),
    *("${word/a/o}", "${word//a/o}", "${word/an}", "${word//an}", "${word/#b/c}", "${word/#a/c}"),
    *("${word/%a/o}", "${word/%b/o}", "${word//#b/c}", "${word/[an]/_}", "${word//[an]/_}"),
    *("${word/x/o}", "${stars/\\*/x}", "${stars//\\*/}", "${path//\\//:}", "${word/a/}"),
    *("${word:0}", "${word:0:1}", "${word:1:2}", "${word:5}", "${word:6}", "${word:7}"),
    *("${word:2:0}", "${word:2:-1}", "${word: -2}", "${word: -2:1}", "${word:0:99}"),
    *("${word: -6:2}", "${word: -7}", "${word:(-3)}", "${word:3:-3}", "${word: -4:-2}"),
    *("${stars#'a*'}", "${stars#a*}", '${stars%"*c"}', '${stars/"*"b/_}'),
    *("${#word}", "${#empty}", "${#path}", "${mixed^}", "${mixed^^}", "${mixed,}", "${mixed,,}"),
    *("${word-x}", "${word:-x}", "${empty-x}", "${empty:-x}", "${none-x}", "${none:-x}"),
    *("${word+x}", "${word:+x}", "${none+x}", "${none:+x}", "${empty+x}"),
    *("${word:?gone}", "${none=set}", "${none:=set}", "a${word}b", "$word$empty"),
    *("~", "'~'", "'$word'", '"$word"', "\\$word", "$'a\\tb'"),
]


def simulated(expression, state=None, printed=None):
    """The text of an expression as a value that is assigned."""
    state = state or ShellState("/w", "/home/u", dict(VALUES))
    command = parse_command(f"v={expression}", parser()).statements[0].command
    expansion = StateExpansion(state, lambda _: printed)
    return expansion.text(command.assignments[0].value), state


@pytest.fixture(scope="module")
def by_bash():
    """The same expressions expanded by bash, each in a shell of its own."""
    settings = "".join(f"{name}='{value}'\n" for name, value in VALUES.items())
    lines = [f"(v={one}; printf '%s\\0' \"$v\")" for one in EXPANSIONS]
    done = subprocess.run(
        ["bash", "-c", settings + "\n".join(lines)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={"HOME": "/home/u", "PATH": "/usr/bin:/bin"},
    )
    return dict(zip(EXPANSIONS, done.stdout.split("\0"), strict=False))


@pytest.mark.parametrize("expression", EXPANSIONS)
def test_an_expansion_is_what_bash_makes_of_it(by_bash, expression):
    assert simulated(expression)[0] == by_bash[expression]


@pytest.mark.parametrize(
    ("expression", "remembered"),
    [
        ("${none=set}", "set"),
        ("${none:=set}", "set"),
        ("${none-x}", None),
        ("${none:-x}", None),
        ("${empty=x}", ""),
        ("${empty:=x}", "x"),
    ],
)
def test_only_an_assigning_default_is_remembered(expression, remembered):
    _, state = simulated(expression)

    name = "none" if "none" in expression else "empty"
    assert state.variables.get(name) == remembered


def fields(source, state=None, printed=None):
    state = state or ShellState("/w", "/home/u", dict(VALUES))
    command = parse_command(f"x {source}", parser()).statements[0].command
    return StateExpansion(state, lambda _: printed).fields(command.words)[1:]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("$1", ["one"]),
        ("$2", ["two words"]),
        ('"$2"', ["two words"]),
        ("$3", []),
        ('"$@"', ["one", "two words"]),
        ('"${@:2}"', ["two words"]),
        ('"${@:1:1}"', ["one"]),
        ('"${@:0:1}"', ["script"]),
        ("$#", ["2"]),
        ("$0", ["script"]),
        ('"${list[@]}"', ["a", "b", "c"]),
        ('"${list[@]:1}"', ["b", "c"]),
        ('"${list[@]:0:2}"', ["a", "b"]),
        ('"${list[@]: -1}"', ["c"]),
        # How many is not known: all of them may be meant.
        ('"${list[@]:$none}"', ["a", "b", "c"]),
        ('"${list[@]:1:$(x)}"', ["a", "b", "c"]),
        ('"${list[1]}"', ["b"]),
        ('"$list"', ["a"]),
        ('"${list[@]/b/x}"', ["a", "x", "c"]),
        ('"${table[key]}"', ["value"]),
        ("${!name}", ["target"]),
    ],
)
def test_arguments_and_arrays_have_elements(source, expected):
    state = ShellState(
        "/w",
        "/home/u",
        {
            "list": {"0": "a", "1": "b", "2": "c"},
            "table": {"key": "value", "other": "else"},
            "name": "pointed",
            "pointed": "target",
        },
        name="script",
        arguments=["one", "two words"],
    )

    found = [
        one
        for field in fields(source, state)
        for one in ([field] if '"' in source else field.split(" "))
    ]

    assert found == (
        [] if expected == [] else expected if '"' in source else expected[0].split(" ")
    )


def test_what_a_substitution_prints_loses_its_line_ends():
    assert fields('"$(x)"', printed="a\nb\n\n") == ["a\nb"]


def test_what_a_substitution_prints_may_be_unknown():
    assert fields('"$(x)"', printed=None) == [UNKNOWN]


def test_a_process_substitution_is_a_file_with_what_the_process_prints():
    state = ShellState("/w", "/home/u")

    paths = fields("<(x) <(x)", state, printed="text")

    assert paths == ["/dev/fd/63", "/dev/fd/64"]
    assert state.files == {"/dev/fd/63": "text", "/dev/fd/64": "text"}


@pytest.mark.parametrize(
    ("operator", "operands"),
    [("#", ["a"]), ("%%", ["a"]), ("/", ["a", "b"]), (":", ["1"]), ("^^", []), ("length", [])],
)
def test_nothing_is_known_about_a_change_of_unknown_text(operator, operands):
    assert apply_operator(f"a{UNKNOWN}", operator, operands) == UNKNOWN


@pytest.mark.parametrize(
    ("operator", "operands"),
    [("#", [UNKNOWN]), ("/", ["a", UNKNOWN]), (":", ["n"]), (":", ["1", "n"])],
)
def test_nothing_is_known_about_a_change_by_unknown_operands(operator, operands):
    assert apply_operator("abc", operator, operands) == UNKNOWN


def test_a_text_is_changed_up_to_a_length():
    assert apply_operator("a" * 1024, "%", ["a"]) == "a" * 1023
    assert apply_operator("a" * 1025, "%", ["a"]) == UNKNOWN
    assert apply_operator("a" * 1025, "length", []) == "1025"


@pytest.mark.parametrize(
    "field", ["plain", "", "~/x", "a~b", "a\ue000b", "\ue001", "\ue002x]", UNKNOWN]
)
def test_a_field_as_a_word_becomes_the_same_field_again(field):
    word = concrete_word(field)
    state = ShellState("/w", "/home/u")

    assert StateExpansion(state, lambda _: None).fields([word]) == [field]
