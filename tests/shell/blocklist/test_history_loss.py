"""Commands after which the history of the repository is gone, and their near misses."""

import pytest
from tests.support.commands import expanded

from handrail.shell.blocklist.history_loss import find_history_losses


def loses(command):
    return bool(list(find_history_losses(expanded(command))))


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf .git",
        "rm -rf .g*",
        "rm -rf .hg",
        "find . -name .git -exec rm -rf {} +",
        "find . -mindepth 01 -name .git -exec rm -rf {} +",
        "find . -mindepth 2 -mindepth 1 -name .git -exec rm -rf {} +",
        r"find . -regex '.*/\.git' -delete",
        r"find . -iregex '.*/\.GIT' -exec rm -rf {} +",
        r"find . -regex '.*/\(\.git\|x\)' -exec rm -rf {} +",
        "find . -samefile ./.git/ -exec rm -rf {} +",
        "find . ! ! -name .git -exec rm -rf {} +",
        r"find . \( \( -name x \) -o -name .git \) -exec rm -rf {} +",
        r"find . ! \( -name x \) -name .git -exec rm -rf {} +",
        r"find . ! \( \( -name x \) -name y \) -name .git -exec rm -rf {} +",
        "find . -name '.*' -not -name .github -exec rm -rf {} +",
        "find . -name .git ! -path './x/*' -print0 | xargs -0 rm -rf",
        r"fd -HI -t d '^\.git$' | xargs rm -rf",
        "git reflog expire --expire=now --all && git gc --prune=now",
        "mv .git /dev/null",
    ],
)
def test_the_history_is_lost(command):
    assert loses(command)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf .h*",
        "rm -rf .j*",
        "rm -rf .pytest_cache .mypy_cache",
        "find . -name '.*' -not -name .git -delete",
        "find . -name '*.pyc' -not -path './.git/*' -delete",
        "find . ! -name src -name '*.o' -delete",
        r"find . ! \( \( -name x \) -name .git \) -name '*.o' -delete",
        r"find . ! \( \( -name x \) -name .git \) -delete",
        r"find . ! \( -name .git -o -name x \) -name '*.o' -delete",
        "find . -mindepth 2 -name .git -exec rm -rf {} +",
        r"find . -regex '.*\.pyc' -delete",
        "find . -samefile src/a -delete",
        r"fd -H '\.pyc$' | xargs rm -rf",
        r"fd '^\.git$' | xargs rm -rf",
        "fd -H . | wc -l",
        "git gc --prune=now",
        "mv .git ../other.git",
    ],
)
def test_the_history_stays(command):
    assert not loses(command)
