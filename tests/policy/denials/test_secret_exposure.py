"""What the text of a command says of secrets, without a look at the files."""

import pytest

from handrail.core.commands import CommandAnalysis, CommandClass, CommandEffects, CommandPart
from handrail.policy.denials.secret_exposure import SecretExposure, is_brief


def look():
    raise AssertionError("the text gives the answer")


def analysis(*words, reads=(), safety_class=CommandClass.SAFE):
    parts = (CommandPart(words, " ".join(word or "?" for word in words), safety_class),)
    return CommandAnalysis(safety_class, (), CommandEffects(reads=reads), parts=parts)


@pytest.mark.threat("A49")
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (analysis("true"), False),
        (analysis("cat", "a.txt", reads=("/w/a.txt",)), False),
        (analysis("cat", ".env", reads=("/w/.env",)), True),
        (analysis("git", "show", "HEAD:.env"), True),
        (analysis("ls", ".*"), True),
        # These depend on the files that exist.
        (analysis("cat", None), None),
        (analysis("grep", "-r", "x", reads=("/w/",)), None),
        (analysis("make", safety_class=CommandClass.DANGEROUS), None),
    ],
    ids=["nothing", "file", "secret", "revision", "glob", "unknown", "tree", "dangerous"],
)
def test_the_text_gives_the_answer_where_files_do_not_matter(command, shown):
    assert SecretExposure(look, ("/w",), None).may_show_by_text(command) is shown


def test_only_few_short_words_are_brief():
    assert is_brief(analysis("cat", "a.txt", None, reads=("/w/a.txt",)))
    assert not is_brief(analysis("cat", "a" * 2000))
    assert not is_brief(analysis("cat", *["a"] * 1000))
    assert not is_brief(analysis("cat", *[None] * 2000))
    assert not is_brief(analysis("cat", reads=tuple(f"/w/{number}" for number in range(500))))
