"""The time to judge a command grows with its length, not with the square of it."""

import time

import pytest
from tests.support.commands import ROOT, WHERE, parser

from handrail.shell.analyzer import ShellCommandAnalyzer

LENGTH = 20_000
# Four times the length in no more than twelve times the time; a square would need sixteen.
GROWTH = 12
# Below this the clock decides.
MEASURABLE = 0.1


def cpu_seconds(command):
    """The CPU time to judge a command that no analyzer has seen before."""
    analyzer = ShellCommandAnalyzer(parser(), lambda cwd: WHERE._replace(cwd=cwd))
    before = time.process_time()
    analyzer.analyze(command, cwd=ROOT, env={})
    return time.process_time() - before


@pytest.mark.finding("F09")
@pytest.mark.parametrize(
    ("before", "piece", "after"),
    [
        ("python -c '", "a", "'"),
        ("python -c '", "command ", "'"),
        ("python -c '", "delete-file-", "'"),
        ("curl ", "a", ""),
        ("scp x ", "a", ""),
        ("scp x '", ":", "\n'"),
        ("watchexec ", "rm ", ""),
        ("watchexec -- ", "kill ", ""),
        ("docker run -v /:/x y ", "rm ", ""),
        ("gcloud ", "projects delete ", ""),
        ("psql -c '", "drop table ", "'"),
        ("psql -c '", "$a$ ", "'"),
        ("psql -c '", "/* ; ", "'"),
        ("aws ", "delete-stack --name=", ""),
        ("kubectl delete ", "-n ", ""),
        ("gcloud x ", "a-", ""),
        ("gcloud x ", "aA", ""),
        ("python -c '", "unlink </a", "'"),
        ("aws ", "delete-", ""),
        ("ansible -a '", "path=x ", "'"),
        ("xargs aws ", "delete ", ""),
        ("git push ", "+", ""),
        ("curl -X DELETE ", "://", ""),
        # Every command of a stage is fed by every command of the one before.
        ("x ", "| { " + "cat; " * 20 + "} ", "| tee x"),
        ("echo a ", "| { " + "cat; " * 20 + "} ", "| tee x"),
        ("aws s3api put-bucket-lifecycle-configuration --x ", "days", ""),
        ("aws s3api put-bucket-lifecycle-configuration --x 'key", " ", "!'"),
        ("gsutil lifecycle set ", "expir", ""),
        ("nsupdate <<E\n", "\n", "E"),
        ("footool <<E\n", "\n", "E"),
        ("footool --env prod <<E\n", "\n", "E"),
        ("footool --env prod <<E\n", "drop user x\n", "E"),
        ("footool 'db_", "a_", "!'"),
        ("footool '", "migrat_", "\n!'"),
        ("gcloud x '", "rm-", "\n!'"),
        ("", "docker volume rm $(docker volume ls -q | grep test);", ""),
        ("cat k.pub | ssh host '", "@localhost", "' 'cat >> ~/.ssh/authorized_keys'"),
        # Links, files that are run, answers, decoders and loops of other languages.
        ("ln -s ~ x; rm ", "x/", ""),
        ("ln -s ~ x; rm ", "x/y ", ""),
        ("mv a b; ls ", "/", ""),
        ("", "git config alias.x y; git x; ", ""),
        ("git ", "-c alias.x=y ", "x"),
        ("make ", "-C x ", ""),
        ("java ", "-cp a:b ", ""),
        ("java -cp ", "a:", ""),
        ("curl -o x y; LD_PRELOAD=", "x:", " ls"),
        ("echo '", "!a ", "' >> ~/.vimrc"),
        ("echo '", "\n", "!' >> ~/.vimrc"),
        ("printf '", "- command: x\n", "' > p.yml; ansible-playbook p.yml"),
        ("printf '", "\n", "' > p.yml; ansible-playbook p.yml"),
        ("echo ", "6", " | perl -ne 'system(pack(1,$_))'"),
        ("base32 -d <<< ", "A", " | sh"),
        ("python -c '", "while 1", "' > x"),
        ("python -c '", "system(", "' < x"),
        ("python -c '", "open(", "' > x"),
        ("python -c '", "/dirname(", "'"),
        ("python -c 'while True:", " print>", "' > x"),
        ("seq ", "1 ", "> x"),
        ("find ~ ", "! -name x ", "-delete"),
        ("find /backup ", "-name x ", "-delete"),
        ("redis-cli <<E\n", "del x\n", "E"),
        ("psql -c '", "update a set b = ", "'"),
        ("git rev-parse ", "--git-dir ", ""),
        ("curl ", "-H 'X-T: $(gh auth token)' ", ""),
        ("yes | terraform ", "destroy ", ""),
        ("set -- ", "a ", "; while (($#)); do rm $1; shift; done"),
    ],
)
def test_long_words_and_many_arguments_take_linear_time(before, piece, after):
    def command(length):
        return before + piece * (length // len(piece)) + after

    cpu_seconds(command(100))
    short = cpu_seconds(command(LENGTH // 4))

    # The better of two: a collection of garbage may fall into one of them.
    long = min(cpu_seconds(command(LENGTH)) for _ in range(2))
    assert long <= max(MEASURABLE, short) * GROWTH
