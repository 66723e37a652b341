"""Commands made by chance: well-formed ones, then a few letters changed.

Their programs are called p1 to p8 and exist nowhere; nothing in them could do harm.
"""

from random import Random

PROGRAMS = ("p1", "p2", "p3", "p4", "'p5'", "p\\6", '"p7"', "p'8'")
JOINTS = ("; ", " && ", " || ", " | ", " & ", "\n", " |& ")
LETTERS = (
    "a", "b", "1", " ", "'", '"', "\\", "{", "}", ",", "..", "{a,b}", "$'", "\\n", "\\x41", "\\'",
    '""', "''", "=", "~", "-", "\\\n", "é", "#", "%", "!", "^", "\\\\", "\\u41", "\\101", '$"', "@",
    "+", ":", "/", "[", "]", "x=",
)  # fmt: skip
TOKENS = (
    "p1", "p2", "x=p5", " ", ";", "&&", "||", "|", "&", "\n", "(", ")", "{ ", " }", "$(", "`", "'",
    '"', "\\", "\\\n", "!", "if ", "; then ", "; fi", "else ", "#", " #", "$((", "))", "((", "[[ ",
    " ]]", "case a in ", "a) ", ";; ", "esac", "<<E\n", "\nE\n", "<<'E'\n", "<(", "${x:-", "}",
    "${x#", "${x/", "time ", "eval ", "a=", "<", "</dev/null", "2>&1", ">/dev/null", "$x", "*",
    "{p1,p2}", "=", "[", "]", "a[", "]=", "+=", "$'", "\\'", '"$(', "command ", "then", "fi", "in",
    "-", "--", "$", "${", "@(", "!(", "?", "|&", "&>/dev/null", "<<<", "<<-E\n", "\t", "[ ", "test ",
    "coproc ", "env ", "builtin ", "\\\\", "\\$", "\\`", '\\"', "E", "\n#", "bash -c ", "", "", "",
)  # fmt: skip


def random_words(chance: Random) -> str:
    """Letters with quotes, escapes and braces, of which a shell makes words."""
    return "".join(chance.choice(LETTERS) for _ in range(chance.randint(1, 9)))


def random_command(chance: Random) -> str:
    """A command of any shape; some of them no shell would take."""
    text = script(chance, chance.randint(1, 3))
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        start = chance.randint(0, len(text))
        end = start + chance.choice((0, 0, 0, 1, 2))
        text = text[:start] + chance.choice(TOKENS) + text[end:]
    return text


def script(chance: Random, depth: int) -> str:
    """One or two commands, well-formed."""
    joint = chance.choice(JOINTS)
    return joint.join(command(chance, depth) for _ in range(chance.randint(1, 2)))


def command(chance: Random, depth: int) -> str:
    """A simple command or a construct, well-formed. Loops end."""
    if depth <= 0:
        return simple(chance, depth)

    def inner() -> str:
        return script(chance, depth - 1)

    def word() -> str:
        return one_word(chance, depth)

    made = (
        lambda: simple(chance, depth),
        lambda: simple(chance, depth),
        lambda: f"({inner()})",
        lambda: f"{{ {inner()}\n}}",
        lambda: f"if {inner()}\nthen {inner()}\nfi",
        lambda: f"if {inner()}\nthen {inner()}\nelse {inner()}\nfi",
        lambda: f"for y in a {word()}; do {inner()}\ndone",
        lambda: f"case {word()} in a) {inner()}\n;; *) {inner()}\n;; esac",
        lambda: f"[[ a == {word()} ]]",
        lambda: f"(( $({inner()}) ))",
        lambda: f"x=({word()} {word()})",
        lambda: "eval '" + inner().replace("'", "'\\''") + "'",
        lambda: f"command {simple(chance, 0)}",
        lambda: f"coproc {simple(chance, 0)}",
        lambda: f"export z={word()}",
    )
    return chance.choice(made)()


def simple(chance: Random, depth: int) -> str:
    """A program, its arguments, and now and then something around it."""
    words = [one_word(chance, depth) for _ in range(chance.randint(0, 2))]
    text = " ".join([chance.choice(PROGRAMS), *words])
    around = (
        "x=a {}", "{} >/dev/null", "{} 2>&1 </dev/null", "{} <<< 'a b'", "{} # p1", "! {}",
        "time {}", "{} <<E\n$(p1) `p2` a\nE", "{}", "{}", "{}", "{}",
    )  # fmt: skip
    return chance.choice(around).replace("{}", text)


def one_word(chance: Random, depth: int) -> str:
    """An argument; below the surface it may run something itself."""
    plain = ("a", "'a b'", '"c $x"', "$x", "{a,b}")
    if depth <= 0 or chance.random() < 0.4:
        return chance.choice(plain)
    program = chance.choice(PROGRAMS)
    inner = script(chance, depth - 1)
    return chance.choice(
        (
            f"$({inner})",
            f"`{program}`",
            f'"$({inner})"',
            f"<({inner})",
            f"${{x:-$({inner})}}",
            f"${{x#`{program}`}}",
            f"$(( $({inner}) ))",
            f'"`{program} \\"a\\"`"',
            f"a$({inner})'b'",
            f"${{x:-<({inner})}}",
            f'"${{x:-`{program}`}}"',
            f"${{x/$({inner})/`{program}`}}",
            f"${{x:$({inner}):1}}",
            f"${{z[$({inner})]}}",
            f"${{x:=$({inner})}}",
        )
    )
