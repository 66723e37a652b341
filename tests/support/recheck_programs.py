"""The second opinion on one program with its words: does it write, run or reach out?"""

import posixpath
import re

from tests.support.recheck_git import git
from tests.support.recheck_tables import (
    CARRIERS,
    FIND_DOES,
    FIND_RUNS,
    FIND_VALUES,
    INTO,
    MANUALS,
    NAMING,
    RISKY,
    SED,
    TAR,
    TOLD,
    UNZIP,
)
from tests.support.recheck_words import Suspicious, Word, told

_PLACE = re.compile(r"(/usr(/local)?)?/bin/[\w.\[-]+")
_VERSION = re.compile(r"(python|pip|node|ruby|perl|php|gcc|clang)-?[\d.]*\d")
_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/[IM]*)"
_SED = re.compile(
    rf"(?:{_ADDRESS}(?:,\s*(?:{_ADDRESS}|[+~]\d+))?)?\s*!*\s*(?:\{{|(?:[pPdDnNgGhHx=zF]|[qQl]\s*\d*"
    r"|[btT:][^;}\n]*|[aic][^\n\\]*(?=\n|$)"
    r"|s([^\w\s\\])(?:(?!\1)[^\\]|\\.)*\1(?:(?!\1)[^\\]|\\.)*\1[gpIiMm\d]*"
    r"|y([^\w\s\\])(?:(?!\2)[^\\]|\\.)*\2(?:(?!\2)[^\\]|\\.)*\2)\s*(?:[;}\n]|#[^\n]*|$))",
    re.DOTALL,
)


def program(words, functions):
    """Raise `Suspicious` if the program could do more than look."""
    name = posixpath.normpath(words[0]) if words[0].startswith("/") else words[0]
    if name in functions:
        return
    base = name.rpartition("/")[2]
    if "/" in name and not _PLACE.fullmatch(name):
        raise Suspicious(f"runs {str(name)!r}")
    version = _VERSION.fullmatch(base)
    asked = TOLD.get(base) or (version and TOLD[version[1]])
    if asked and asked.fullmatch(" ".join(words[1:])):
        return
    known = base in _SPECIAL or base in MANUALS or base in NAMING or base in CARRIERS
    if not known:
        raise Suspicious(f"{str(name)!r} is not known to only look")
    if words[1:] in (["--version"], ["--help"]):
        return
    if base in CARRIERS:
        _carrier(base, words[1:], functions)
    elif base in _SPECIAL:
        _SPECIAL[base](words[1:], functions)
    elif base in NAMING:
        _naming(base, words[1:])
    else:
        _looker(base, words[1:])


def _looker(base, given):
    manual = MANUALS[base]
    only_into = base in INTO and any(map(INTO[base].fullmatch, given))
    _operands(base, manual, told(base, manual, given), unbound=only_into)


def _operands(base, manual, operands, *, unbound=False):
    count = sum(1 + one.many for one in operands)
    if manual.most is not None and count > manual.most and not unbound:
        raise Suspicious(f"{base} is told {' '.join(operands)!r}")
    for one in operands:
        if manual.refused and re.fullmatch(manual.refused, one, re.DOTALL):
            raise Suspicious(f"{base} is told {str(one)!r}")


def _carrier(base, given, functions):
    """A program that runs another: its own words, then the other."""
    if base == "command" and given[:1] and re.fullmatch(r"-p?[vV]", given[0]):
        return

    def heard(_, value):
        if value is not None:
            _stays_one(base, value)

    manual = CARRIERS[base]
    rest = told(base, manual, given, heard)
    while base == "env" and rest and re.match(r"\w+=", rest[0]):
        variable(re.match(r"\w+", rest[0])[0])
        _stays_one(base, rest.pop(0))
    if manual.most and rest:
        _stays_one(base, rest.pop(0))
    if rest:
        unseen = [Word("\x00", many=True)] if base == "xargs" else []
        program([*rest, *unseen], functions)


def _stays_one(base, word):
    if word.many:
        raise Suspicious(f"{base} is told {str(word)!r}, which may be several words")


def variable(name):
    """Raise `Suspicious` if setting the variable could change what is run."""
    if RISKY.fullmatch(name):
        raise Suspicious(f"sets {name}")


def _naming(base, given):
    for one in told(base, NAMING[base], given):
        found = re.fullmatch(r"(\w+)(=.*)?", one, re.DOTALL)
        if not found:
            raise Suspicious(f"{base} is told {str(one)!r}")
        variable(found[1])


def _find(given, functions):
    rest, before = list(given), ""
    while rest:
        word = rest.pop(0)
        if before in FIND_VALUES:
            before = ""
            continue
        if word in FIND_RUNS:
            rest = _run_by_find(rest, functions)
        elif (
            word in FIND_DOES and (rest[:1] not in ([], [""]) or word == "-delete")
        ) or word.opens():
            raise Suspicious(f"find is told {str(word)!r}")
        before = word


def _run_by_find(words, functions):
    """Look at the command; the words behind it."""
    for end, word in enumerate(words):
        if word == ";" or (end and words[end - 1] == "{}" and word == "+"):
            break
    else:
        end = len(words)
    many = words[end : end + 1] == ["+"]
    if words[:end]:
        program([_found(one, many=many) for one in words[:end]], functions)
    return words[end + 1 :]


def _found(word, *, many):
    """What find puts in the place of `{}` begins with the place where it began."""
    if "{}" not in word:
        return word
    return Word(word.replace("{}", "./\x00"), many=many or word.many)


def _sed(given, _):
    scripts = []

    def heard(name, value):
        if name in ("e", "expression"):
            scripts.append(value or "")

    operands = told("sed", SED, given, heard)
    for script in scripts or operands[:1]:
        rest = script.lstrip("{}; \t\n")
        while rest:
            found = _SED.match(rest)
            if not found:
                raise Suspicious(f"sed is told {str(script)!r}")
            rest = rest[found.end() :].lstrip("{}; \t\n")


def _tar(given, _):
    archives = []

    def heard(name, value):
        if name in ("f", "file"):
            archives.append(value)

    if given and not given[0].startswith("-"):
        # Letters without a dash take their values from the words that follow, in turn.
        letters, rest = given[0], list(given[1:])
        given = []
        for letter in letters:
            given.append(Word(f"-{letter}"))
            if letter in TAR.values and rest:
                given.append(rest.pop(0))
        given += rest
    told("tar", TAR, given, heard=heard)
    for archive in archives:
        if archive is not None and ":" in archive:
            raise Suspicious(f"tar reaches {str(archive)!r}")


def _unzip(given, _):
    operands = told("unzip", UNZIP, given)
    front = given[: given.index(operands[0])] if operands else []
    # Without an archive it says how it is used; behind one there are only members.
    if operands and not any(map(INTO["unzip"].fullmatch, front)):
        raise Suspicious("unzip unpacks")


def _test(given, _):
    if any(re.fullmatch("-[vR]", one) for one in given):
        raise Suspicious("a test works out a name")


def _printf(given, _):
    if given[:1] and given[0].startswith("-") and given[0] != "--":
        raise Suspicious(f"printf is told {str(given[0])!r}")
    form = given[given[:1] == ["--"] :][:1]
    # It sets a variable to the number of letters so far.
    if any(re.search(r"%[-+ #0'\d.*hjlLtz]*(\(.*\))?n", one.replace("%%", "")) for one in form):
        raise Suspicious("printf sets a variable")


def _ar(given, _):
    if given and not re.fullmatch("-?[tpvoOV]+", given[0]):
        raise Suspicious(f"ar is told {str(given[0])!r}")


def _bat(given, _):
    if any(re.match("--paging(?!=never$)", one) for one in given):
        raise Suspicious("bat starts a pager")
    _looker("bat", given)


def _set(given, _):
    if given:
        raise Suspicious("set is told something")


def _shell(given, functions):
    """A shell that is given its text; the text is read like any other."""
    rest, takes_text = list(given), False
    while rest and re.fullmatch(r"-[euxc]+|--(norc|noprofile|posix)", rest[0]):
        takes_text = takes_text or (rest[0][1] != "-" and "c" in rest[0])
        rest.pop(0)
    if takes_text and rest[:1] == ["--"]:
        rest.pop(0)
    if len(rest) > 1 and rest[0] == "-n" and (rest[1] == "-c" or not rest[1].startswith("-")):
        # It only reads the file; the words behind are arguments of a script that never runs.
        return
    if not takes_text or not rest or rest[0].startswith("-"):
        raise Suspicious("a shell is told more than a text")
    if rest[0].many or "\x00" in rest[0]:
        raise Suspicious("the text of a shell is computed")
    # Imported here: the reader of texts knows programs, too.
    from tests.support.recheck import recheck

    recheck(str(rest[0]))


_AWK_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_AWK_PATTERN = re.compile(r"(?<![\w)\]$\"])\s*/(?:[^/\\\n]|\\.)+/")
# What is printed goes to a command that is a text alone.
_AWK_PIPE = re.compile(r'\|\s*"(\d+)"(?=\s*(?:[;}\n]|$))')
_AWK_DOES = re.compile(
    r"\bsystem\b|\||@|\b(ARGV|ARGC|SYMTAB|FUNCTAB|PROCINFO|ENVIRON)\b"
    r"|\bprintf?\b[^;}\n]*>|\b(while|for)\s*\((\s*\d*\s*|;\s*;[^)]*)\)"
)


def _awk(given, _):
    """An awk program without its strings and patterns has no word that does more than print."""
    rest = list(given)
    while rest and rest[0].startswith("-") and rest[0] != "--":
        option = rest.pop(0)
        if option in ("-F", "-v"):
            del rest[:1]
        elif not re.match(r"-[Fv].|--(version|help)$", option):
            raise Suspicious(f"awk is told {str(option)!r}")
    rest = rest[rest[:1] == ["--"] :]
    if rest[:1] == ["/\x00"]:
        # The home or the working directory: a pattern and names.
        return
    if rest and (rest[0].many or "\x00" in rest[0]):
        raise Suspicious("the program of awk is computed")
    if rest:
        _awk_program(str(rest[0]))


def _awk_program(text):
    for source in re.findall(r'getline[^<;})]*<\s*("[^"]*"|\S+)', text):
        steps = source.strip('"').partition('"')[0].split("/")
        if not re.match(r'"[^/~"\\$][^"\\]*"', source) or ".." in steps:
            raise Suspicious("awk reads what is computed, or from elsewhere")
    # A comment goes to the end of its line; a `#` in a string or pattern is none.
    text = re.sub(r"(?:^|(?<=[;{}\n]))\s*#[^\n]*", "", text)
    code = re.sub(r'ENVIRON\["(HOME|PATH|PWD|USER|LANG|SHELL|TERM)"\]', "", text)
    texts = []
    code = _AWK_TEXT.sub(lambda one: f'"{len(texts)}"{texts.append(one[0]) or ""}', code)
    code = _AWK_PATTERN.sub("", code.replace("||", " "))
    code = _AWK_PIPE.sub(lambda one: _awk_pipe(texts[int(one[1])]), code)
    if re.search(r"\bsystem\b|\||@", code):
        raise Suspicious("awk runs something")
    # A comparison in parentheses is no redirect.
    while (flat := re.sub(r"\([^()]*\)", " ", code)) != code:
        code = flat
    if _AWK_DOES.search(code.replace(">=", "")):
        raise Suspicious("awk does more than print")


def _awk_pipe(quoted):
    """Nothing, for a command that only reads."""
    from tests.support.recheck import recheck

    if "\\" in quoted:
        raise Suspicious("awk runs a command that is written with escapes")
    recheck(quoted[1:-1])
    return ""


def _docker(given, _):
    if given[:1] not in (["ps"], ["images"], ["logs"], ["version"], ["diff"]):
        raise Suspicious("docker is told to act")
    if (
        any(re.match(r"--follow|--fol|-[a-z]*f$|--no-trunc", one) for one in given[1:])
        and given[0] == "logs"
    ):
        raise Suspicious("docker goes on without end")


def _systemctl(given, _):
    verbs = [one for one in given if not one.startswith("-")][:1]
    shows = r"status|is-\w+|list-[\w-]+|get-default"
    if verbs and not re.fullmatch(shows, verbs[0]):
        raise Suspicious("systemctl is told to act")


def _journalctl(given, _):
    options = [one for one in given if one.startswith("-")]
    acts = r"--(vac|ro|fl|sy|re[^v]|smart|set|upd|fol|cursor-f|interv|verify|force).*|-[a-z]*f.*"
    if any(re.fullmatch(acts, one) for one in options):
        raise Suspicious("journalctl changes the journal or goes on without end")


def _gofmt(given, _):
    if any(re.match(r"--?(w|cpuprofile)", one) for one in given):
        raise Suspicious("gofmt writes")


_SPECIAL = {
    **dict.fromkeys(("bash", "sh", "dash", "ash"), _shell),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    "docker": _docker,
    "journalctl": _journalctl,
    "systemctl": _systemctl,
    "gofmt": _gofmt,
    "[": _test,
    "[[": _test,
    "ar": _ar,
    "bat": _bat,
    "find": _find,
    "git": lambda given, _: git(given),
    "printf": _printf,
    "sed": _sed,
    "set": _set,
    "tar": _tar,
    "test": _test,
    "unzip": _unzip,
}
