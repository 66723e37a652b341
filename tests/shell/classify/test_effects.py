"""What a command would touch, as its words say it."""

import pytest
from tests.support.verdicts import ROOT, WHERE, parser

from handrail.shell.analyzer import ShellCommandAnalyzer

ANALYZER = ShellCommandAnalyzer(parser(), lambda cwd: WHERE._replace(cwd=cwd))


def effects(command):
    return ANALYZER.analyze(command, cwd=ROOT, env={}).effects


def below(paths):
    return [path.replace(f"{ROOT}/", "", 1) for path in paths]


@pytest.mark.parametrize(
    ("command", "reads"),
    [
        ("cat a b", ["a", "b"]),
        ("cat < a", ["a"]),
        ("grep -r x src", ["src/"]),
        ("grep x src/*.py", ["src/*.py"]),
        ("grep -r x", [""]),
        ("ls | grep x", [ROOT]),
        ("rg x", [""]),
        ("git grep x", [""]),
        ("find -name x", [""]),
        ("cd src && cat a", ["src/a"]),
        ("for f in a b; do cat $f; done", ["a", "b"]),
        ("cat {a,b}.txt", ["a.txt", "b.txt"]),
        ("cat ./x/../a", ["a"]),
        ("cp a b", ["a"]),
        ("cp -r src dst", ["src/"]),
        ("tar tf a.tar", ["a.tar"]),
        ("cat ~/a", ["/srv/u/a"]),
        ("python x.py", ["x.py"]),
        ("echo a", []),
        ("cat /dev/null", []),
        ("dd if=a of=b", ["a"]),
    ],
)
def test_paths_that_are_read(command, reads):
    assert below(effects(command).reads) == reads


@pytest.mark.parametrize(
    ("command", "network"),
    [
        ("git push", True),
        ("git -C sub fetch origin", True),
        ("git pull --rebase && make", True),
        ("git remote show origin", True),
        ("pip install -e .", True),
        ("python -m pip install requests", True),
        ("uv pip install requests", True),
        ("npm ci", True),
        ("npm install lodash@4.17", True),
        ("npx eslint .", True),
        ("cargo fetch", True),
        ("bundle install", True),
        ("curl https://example.com", True),
        ("git commit -m push", False),
        ("git log", False),
        ("npm test", False),
        ("npm run install-all", False),
        ("pip list", False),
        ("pytest", False),
        ("echo git push", False),
    ],
)
def test_commands_that_talk_to_machines_they_do_not_name(command, network):
    assert effects(command).needs_network is network


@pytest.mark.parametrize(
    ("command", "writes"),
    [
        ("echo x > a", ["a"]),
        ("echo x >> a 2> b", ["a", "b"]),
        ("ls &> a", ["a"]),
        (": > a", ["a"]),
        ("ls | tee a b", ["a", "b"]),
        ("sed -i s/a/b/ x y", ["x", "y"]),
        ("sed -n p x", []),
        ("sort -o out in", ["out"]),
        ("sort --output=out in", ["out"]),
        ("rm a b", ["a", "b"]),
        ("rm -rf build", ["build/"]),
        ("touch a", ["a"]),
        ("mkdir -p a/b", ["a/b"]),
        ("cp a b c/", ["c/a", "c/b"]),
        ("cp a b", ["b", "b/a"]),
        ("mv x/a .", ["x/a/", "a"]),
        ("ln -s a b", ["b"]),
        ("truncate -s 0 a", ["a"]),
        ("dd if=a of=b", ["b"]),
        ("tar xf a.tar -C out", ["out/"]),
        ("unzip a.zip -d out", ["out/"]),
        ("unzip a.zip", [""]),
        ("find src -name x -delete", ["src/"]),
        ("gzip a", ["a"]),
        ("gzip -c a", []),
        ("patch a < b", ["a"]),
        ("tee /dev/null", []),
        ("bash -c 'echo x > a'", ["a"]),
        ("echo x > /etc/x", ["/etc/x"]),
        ("install -d a b", ["a", "b"]),
    ],
)
def test_paths_that_are_written(command, writes):
    assert below(effects(command).writes) == writes


@pytest.mark.parametrize(
    ("command", "hosts"),
    [
        ("curl -o x.txt http://e.example", ["e.example"]),
        ("curl -sSLo x.txt e.example/a.tgz", ["e.example"]),
        ("curl -H a.b.c -d @x.json e.example:8080", ["e.example"]),
        ("wget -qO x.txt e.example/a", ["e.example"]),
        ("scp x.txt host:/tmp", ["host"]),
        ("rsync -a a.txt u@h.example:/b", ["h.example"]),
        ("curl -s https://me@Example.org:8080/a?b", ["example.org"]),
        ("wget http://[::1]/x", ["::1"]),
        ("ssh -p 22 me@host.example ls", ["host.example"]),
        ("scp a me@host.example:dir", ["host.example"]),
        ("rsync -a . host.example:dir", ["host.example"]),
        ("ping -c1 192.0.2.1", ["192.0.2.1"]),
        ("nc host.example 80", ["host.example"]),
        ("git clone https://host.example/x.git", ["host.example"]),
        ("git clone git@host.example:x.git", ["host.example"]),
        ("echo x > /dev/tcp/host.example/80", ["host.example"]),
        ("echo https://example.org", []),
    ],
)
def test_hosts_that_are_reached(command, hosts):
    assert list(effects(command).hosts) == hosts


@pytest.mark.parametrize(
    ("command", "open_ended"),
    [
        ("cat a", False),
        ("sed -i s/a/b/ x", False),
        ("cp a b", False),
        ("rm -rf a", False),
        ("git status", False),
        ("pytest", True),
        ("make", True),
        ("unheard-of", True),
        ("./x", True),
        ("python x.py", True),
        ("$X", True),
        ("git checkout x", True),
        ("for n in $(seq 3); do echo > g$n; done", True),
        ("echo a | tee -- $(cat name)", True),
        ("cd $(cat name); echo > a", True),
        ("for n in a b; do echo > $n.txt; done", False),
    ],
)
def test_what_may_touch_more_than_it_says(command, open_ended):
    assert effects(command).open_ended is open_ended


@pytest.mark.parametrize(
    ("command", "git"),
    [
        ("git status", False),
        ("git log -p", False),
        ("git branch", False),
        ("git branch -vv", False),
        ("git branch x", True),
        ("git branch -d x", True),
        ("git tag v1", True),
        ("git add .", True),
        ("git commit -m x", True),
        ("git stash", True),
        ("git stash list", False),
        ("git fetch", True),
        ("git config a.b c", True),
        ("ls", False),
    ],
)
def test_what_has_to_write_in_the_repository(command, git):
    assert effects(command).git is git


def test_programs_in_their_order_and_where_the_session_goes():
    found = effects("cd src && env A=b timeout 5 ls | sort")

    assert found.programs == ("cd", "env", "timeout", "ls", "sort")
    assert found.changes_directory
    assert not effects("(cd src && ls)").changes_directory


def test_a_link_is_listed_by_both_its_names():
    analyzer = ShellCommandAnalyzer(
        parser(),
        lambda cwd: WHERE._replace(
            cwd=cwd, resolve=lambda path: path.replace("/link", "/src") if "link" in path else path
        ),
    )

    found = analyzer.analyze("echo x > link/a", cwd=ROOT, env={}).effects

    assert below(found.writes) == ["link/a", "src/a"]
