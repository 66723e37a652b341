"""Verdicts on whole commands, with the real parser and the tables as they ship."""

from pathlib import Path

import pytest
from tests.support.verdicts import ROOT, WHERE, parser

from handrail.core.commands import CommandClass
from handrail.shell.analyzer import ShellCommandAnalyzer
from handrail.shell.tables.program_table import load_programs

DATA = Path(__file__).resolve().parents[1] / "data" / "commands"
SAFE, DEV, DANGEROUS, BLOCKED = CommandClass


def lines(name):
    text = (DATA / f"{name}.txt").read_text()
    return [line for line in text.splitlines() if line and not line.startswith("# ")]


def analyzer_with(**changes):
    where = WHERE._replace(**changes)
    return ShellCommandAnalyzer(parser(), lambda cwd: where._replace(cwd=cwd))


ANALYZER = analyzer_with()


def analysis(command, *, env=None, analyzer=ANALYZER, cwd=ROOT):
    return analyzer.analyze(command, cwd=cwd, env=env or {})


def safety_class(command, **more):
    return analysis(command, **more).safety_class


@pytest.mark.feature("H02", "H13")
def test_commands_that_only_look_are_safe():
    assert {
        one: analysis(one).reasons for one in lines("looks") if safety_class(one) is not SAFE
    } == {}


@pytest.mark.feature("H04", "H13", "H14")
def test_commands_that_do_something_are_not_safe():
    commands = [one.replace("\\n", "\n") for one in lines("acts")]

    assert [one for one in commands if safety_class(one) is SAFE] == []


@pytest.mark.feature("H13")
@pytest.mark.parametrize(
    ("safe", "other"),
    [
        ("sort a", "sort a -o b"),
        ("sort -ru a", "sort -ruo b a"),
        ("sed -n 5p a", "sed -n 5w a"),
        ("grep -rn x src", "grep -rn x .."),
        ("find . -name x", "find . -name x -delete"),
        ("uniq a", "uniq a b"),
        ("tail -n 5 a", "tail -f a"),
        ("git branch", "git branch x"),
        ("git tag -l x", "git tag x"),
        ("git config user.name", "git config user.name x"),
        ("git diff a", "git diff --output=a"),
        ("git -C src status", "git -C .. status"),
        ("cat src/a", "cat src/../../a"),
        ("cat *.md", "cat ../*.md"),
        ("cat .env.example", "cat .env"),
        ("ls $PWD", "ls $HOME"),
        ("echo $USER", "echo $API_KEY"),
        ("for f in *.md; do cat $f; done", "for f in ../*.md; do cat $f; done"),
        ("D=src; ls $D/core", "ls $D/core; D=src"),
        ("find . -name '*.py' | xargs wc -l", "cat list | xargs wc -l"),
        ("ls > /dev/null", "ls > out"),
        ("sleep 1", "sleep 1d"),
        ("seq 1 100", "seq 1 10000000000"),
        ("tar tf a.tar", "tar tfI a.tar x"),
        ("gzip -l a.gz", "gzip a"),
        ("jq .a f", "jq -n env"),
        ("python3 --version", "python3 --version x.py"),
        ("LC_ALL=C sort a", "PATH=. sort a"),
        ("ls --color=never", "ls --colour-program=x"),
    ],
)
def test_one_word_makes_the_difference(safe, other):
    assert (safety_class(safe), safety_class(other) > SAFE) == (SAFE, True)


@pytest.mark.feature("H03")
@pytest.mark.parametrize(
    "command",
    [
        "pytest -q",
        "python -m pytest tests",
        "uv run --with x pytest",
        "npx tsc --noEmit",
        "./gradlew test",
        "python scripts/gen.py",
        "source .venv/bin/activate && pytest",
        "make -j4 && ./build/app",
        "git add -A && git commit -m 'x'",
        "mkdir -p a/b && touch a/b/c",
        "cat a > b",
        "sed -i s/a/b/ src/a.py",
        "rm -rf build",
        "kubectl get pods",
        "find . -name '*.o' | xargs rm",
    ],
)
def test_development_commands_are_known(command):
    assert safety_class(command) is DEV


@pytest.mark.feature("H04")
@pytest.mark.parametrize(
    "command",
    [
        "nobody-knows-this --help",
        "curl https://example.org",
        "git push",
        "python -c 'print(1)'",
        "cp a ../x",
        "mv a ..",
        "npx left-padder",
        "uv run python -c 'x'",
        "echo x > .git/config",
        "rm -rf .",
        "make -f ../x",
        "$TOOL x",
    ],
)
def test_everything_else_is_dangerous(command):
    found = analysis(command)

    assert (found.safety_class, bool(found.reasons)) == (DANGEROUS, True)


@pytest.mark.feature("H14")
def test_a_compound_command_is_as_bad_as_its_worst_part():
    found = analysis("ls && pytest; curl https://example.org")

    assert found.safety_class is DANGEROUS
    assert [(part.words[0], part.safety_class) for part in found.parts] == [
        ("ls", SAFE),
        ("pytest", DEV),
        ("curl", DANGEROUS),
    ]
    assert found.reasons[0].part == "curl https://example.org"


def test_a_command_that_cannot_be_read_is_dangerous_and_may_touch_anything():
    found = analysis("ls 'never closed")

    assert (found.safety_class, found.effects.open_ended) == (DANGEROUS, True)
    assert "cannot be parsed" in found.reasons[0].text


def test_letters_that_nobody_sees_are_dangerous():
    assert safety_class("echo a\u202eb") is DANGEROUS
    assert safety_class("echo a\u200bb") is DANGEROUS
    assert safety_class("echo ä") is SAFE


@pytest.mark.parametrize(
    "command",
    [
        "handrail undo",
        "python -m handrail undo",
        "uv run handrail undo",
        "uvx handrail undo",
        "ls; handrail config",
        "/usr/bin/handrail undo",
        "env handrail undo",
        "bash -c 'handrail undo'",
    ],
)
def test_handrail_itself_is_blocked(command):
    assert safety_class(command) is BLOCKED


def test_handrail_under_another_name_is_blocked():
    analyzer = analyzer_with(
        find_program=lambda name: {"handrail": "/opt/h", "h": "/opt/h"}.get(name, f"/bin/{name}"),
        resolve=lambda path: "/opt/h" if path.endswith("/tool") else path,
    )

    assert safety_class("h undo", analyzer=analyzer) is BLOCKED
    assert safety_class("./tool undo", analyzer=analyzer) is BLOCKED
    assert safety_class("ls", analyzer=analyzer) is SAFE


def test_handrail_may_be_spoken_of():
    assert safety_class("grep -rn handrail src") is SAFE


def test_a_program_of_the_workspace_is_not_the_systems():
    analyzer = analyzer_with(find_program=lambda name: f"{ROOT}/.venv/bin/{name}")

    assert safety_class("ls", analyzer=analyzer) is DEV
    assert safety_class("echo a", analyzer=analyzer) is SAFE
    assert safety_class("./ls") is DEV
    assert safety_class("/bin/ls") is SAFE
    assert safety_class("/opt/evil/ls") is DANGEROUS
    assert safety_class("~/bin/ls") is DANGEROUS


def test_a_link_out_of_the_workspace_is_followed():
    analyzer = analyzer_with(resolve=lambda path: path.replace(f"{ROOT}/link", "/opt/x"))

    assert safety_class("cat link/passwd", analyzer=analyzer) is DANGEROUS
    assert safety_class("cat link/*", analyzer=analyzer) is DANGEROUS
    assert safety_class("echo x > link/x", analyzer=analyzer) is DANGEROUS
    # The link itself is the workspace's own.
    assert safety_class("rm link", analyzer=analyzer) is DEV


def test_a_root_that_is_a_link_is_a_root():
    analyzer = analyzer_with(resolve=lambda path: path.replace(ROOT, "/mnt/disk/app"))

    assert safety_class("cat a", analyzer=analyzer) is SAFE
    assert safety_class("cat /mnt/disk/app/a", analyzer=analyzer) is SAFE
    assert safety_class("cat /mnt/disk/b", analyzer=analyzer) is DANGEROUS


def test_the_disk_is_asked_anew_each_time():
    roads = {}
    analyzer = analyzer_with(resolve=lambda path: roads.get(path, path))
    assert safety_class("cat a", analyzer=analyzer) is SAFE

    roads[f"{ROOT}/a"] = "/etc/shadow"

    assert safety_class("cat a", analyzer=analyzer) is DANGEROUS


def test_where_the_command_starts_counts():
    assert safety_class("cat ../a", cwd=f"{ROOT}/src") is SAFE
    assert safety_class("ls", cwd="/etc") is DANGEROUS
    assert safety_class("cd src && cat ../a") is SAFE
    assert safety_class("cd .. && ls") is DANGEROUS


def test_a_repository_that_is_not_tame_makes_git_a_development_tool():
    tame = ShellCommandAnalyzer(
        parser(), lambda cwd: WHERE._replace(cwd=cwd), git_is_safe=lambda cwd: "sub" not in cwd
    )

    assert safety_class("git status", analyzer=tame) is SAFE
    assert safety_class("git -C sub status", analyzer=tame) is DEV
    assert safety_class("cd sub && git log", analyzer=tame) is DEV


def test_protected_names_are_dangerous_to_write():
    def reason(path):
        return "the editor runs it" if path.startswith(".vscode") else None

    analyzer = ShellCommandAnalyzer(parser(), lambda cwd: WHERE._replace(cwd=cwd), protected=reason)

    assert safety_class("echo x > .vscode/tasks.json", analyzer=analyzer) is DANGEROUS
    assert safety_class("echo x > notes", analyzer=analyzer) is DEV


@pytest.mark.parametrize(
    ("name", "expected"),
    [("LC_ALL", SAFE), ("FOO", DEV), ("LD_PRELOAD", DANGEROUS), ("BASH_FUNC_ls%%", DANGEROUS)],
)
def test_variables_beside_the_command_count_as_if_in_front_of_it(name, expected):
    assert safety_class("ls", env={name: "x"}) is expected


def test_a_variable_given_beside_is_not_known_inside():
    assert safety_class("F=a; cat $F") is SAFE
    assert safety_class("F=a; cat $F", env={"F": "/etc/passwd"}) > SAFE


def test_what_a_person_adds_is_known():
    added = load_programs(
        {"lstools": {"class": "safe"}, "npm": {"subcommands": {"gen": {"class": "dev"}}}}
    )
    analyzer = ShellCommandAnalyzer(
        parser(), lambda cwd: WHERE._replace(cwd=cwd), added, blocked=["terraform destroy"]
    )

    assert safety_class("lstools -x a", analyzer=analyzer) is SAFE
    assert safety_class("lstools /etc/passwd", analyzer=analyzer) is DANGEROUS
    assert safety_class("npm gen", analyzer=analyzer) is DEV
    assert safety_class("npm list", analyzer=analyzer) is SAFE
    assert safety_class("terraform destroy", analyzer=analyzer) is BLOCKED


def test_the_background_is_told():
    found = analysis("sleep 5 & ls")

    assert (found.safety_class, found.effects.background) == (DEV, True)


@pytest.mark.feature("H09")
def test_segments_name_every_program():
    found = analysis("cd src && cat a | sort")

    assert [segment.word for segment in found.segments] == ["cd", "cat", "sort"]


@pytest.mark.feature("H04")
@pytest.mark.parametrize("command", ["(( CI ))", "[[ $CI -eq 1 ]]", "ls; a[CI]=1"])
def test_a_variable_given_to_the_command_is_not_worked_out_as_arithmetic(command):
    assert safety_class(command, env={"CI": "a[$(touch m)]"}) is DANGEROUS
    assert safety_class(command, env={"CI": "1"}) < DANGEROUS


@pytest.mark.feature("H04")
@pytest.mark.parametrize(
    "path", ["/srv/u/.cargo/bin/rustup", "/srv/u/.asdf/shims/node", "/srv/u/.volta/bin/volta-shim"]
)
def test_a_program_whose_version_the_workspace_chooses_is_never_safe(path):
    shims = analyzer_with(find_program=lambda name: path if name == "node" else f"/usr/bin/{name}")

    assert (safety_class("node --version", analyzer=shims), safety_class("node --version")) == (
        DEV,
        SAFE,
    )


@pytest.mark.feature("H01")
@pytest.mark.parametrize(
    "command",
    ["echo x > /dev/stderr", "ls > /dev/stdout", "ls | tee /dev/stderr", "ls 2>/dev/stdout",
     "ls > /dev/fd/2", "ls > /dev/fd/3", "touch /dev/fd/3"],
)  # fmt: skip
def test_where_our_own_streams_lead_does_not_matter(command):
    def resolve(path):
        ours = path.startswith(("/dev/std", "/dev/fd/"))
        return "/proc/4711/fd/pipe:[123]" if ours else path

    assert safety_class(command, analyzer=analyzer_with(resolve=resolve)) < BLOCKED


@pytest.mark.feature("H01")
@pytest.mark.parametrize(
    "command",
    [
        "touch /etc/x",
        "mkdir -p /usr/share/x",
        "sort -o /etc/hosts a",
        "gzip /etc/hosts",
        "uniq a /etc/hosts",
        "xxd -r a /etc/hosts",
        "find . -fprint /etc/x",
        "split a /etc/x",
        "csplit -f /etc/x a 1",
        "mktemp /etc/x.XXX",
        "cd /etc && touch x",
    ],
)
def test_whatever_writes_a_file_of_the_system_is_blocked(command):
    assert safety_class(command) is BLOCKED


@pytest.mark.feature("H04")
@pytest.mark.parametrize("command", ["split a ../out", "csplit -f ../x a 1", "mktemp ../x.XXX"])
def test_files_that_are_made_outside_are_dangerous(command):
    assert safety_class(command) is DANGEROUS


@pytest.mark.parametrize("command", ["python -c 'print(1)'", "node -e 1"])
def test_text_that_is_given_is_not_said_to_be_read_from_the_input(command):
    found = analysis(command)

    assert (found.safety_class, found.effects.open_ended) == (DANGEROUS, True)
    assert not [one for one in found.reasons if "from standard input" in one.text]


def test_a_program_without_a_script_reads_it_from_its_input():
    found = analysis("python < a.py")

    assert (found.safety_class, found.effects.open_ended) == (DANGEROUS, True)
    assert [one for one in found.reasons if "from standard input" in one.text]
