"""What a person may write as a rule, and what is an error that names it."""

import pytest
from tests.policy.rule_support import canonical, rule

from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Effect
from handrail.policy.rules.parse import parse_rule
from handrail.policy.rules.rule import RuleOrigin, RuleSource


@pytest.mark.parametrize(
    ("text", "effect", "tool", "pattern"),
    [
        ("deny edit_file(src/**)", Effect.DENY, "edit_file", "src/**"),
        ("allow Bash(npm test:*)", Effect.ALLOW, "run_command", "npm test:*"),
        ("ask Edit(src/**)", Effect.ASK, "edit_file", "src/**"),
        ("deny Read(~/.ssh/**)", Effect.DENY, "read_file", "~/.ssh/**"),
        ("deny shell(rm:*)", Effect.DENY, "run_command", "rm:*"),
        ("allow mcp__github__list_issues", Effect.ALLOW, "mcp__github__list_issues", None),
        ("ask mcp__github", Effect.ASK, "mcp__github__*", None),
        ("deny *", Effect.DENY, "*", None),
        ("deny run_command(*)", Effect.DENY, "run_command", None),
        ("deny run_command(:*)", Effect.DENY, "run_command", None),
        ("allow Bash(git *x)", Effect.ALLOW, "run_command", "git *x"),
        ("deny  write_file( a b.txt )", Effect.DENY, "write_file", "a b.txt"),
    ],
)
@pytest.mark.feature("G10", "G17")
def test_a_rule_is_read_in_any_vocabulary(text, effect, tool, pattern):
    read = rule(text)

    assert (read.effect, read.tool, read.pattern) == (effect, tool, pattern)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("edit_file(src/**)", "does not begin with allow, ask or deny"),
        ("Deny edit_file", "does not begin with"),
        ("deny edit_files(src/**)", "there is no tool named 'edit_files'"),
        ("deny edit_file(", "neither a tool nor tool(pattern)"),
        ("deny edit_file()", "its pattern is empty"),
        ("deny edit_file(  )", "its pattern is empty"),
        ("deny edit_file(src) extra", "neither a tool"),
        ("deny edit_file(../x)", "leads out"),
        ("deny edit_file(!src)", "cannot negate"),
        ("deny edit_file(a/[z-a]/b)", "cannot be read"),
        ("deny edit_file(a**/b)", "must stand alone"),
        ("deny edit_file(a\\)", "backslash"),
        ("deny edit_file(" + "{a,b}" * 9 + ")", "alternatives"),
        ("deny run_command(git status; rm)", "one program"),
        ("deny run_command(a && b:*)", "one program"),
        ("deny run_command(echo 'x)", "quotes do not end"),
        ("deny run_command(rm $HOME)", "names words"),
        ("deny execute_code(x)", "takes no pattern"),
        ("deny mcp__s__t(x)", "takes no pattern"),
        ("deny edit_file(a\nb)", "printable"),
        ("deny edit_file(" + "a" * 5000 + ")", "at most"),
        ("deny job_*", "there is no tool"),
        # Allowing anything at all is never a rule.
        ("allow *", "too broad"),
        ("allow mcp__*", "too broad"),
        ("allow run_command", "too broad"),
        ("allow Bash(*)", "too broad"),
        ("allow execute_code", "too broad"),
        ("allow Bash(bash:*)", "too broad"),
        ("allow Bash(sh -c:*)", "too broad"),
        ("allow Bash(python3:*)", "too broad"),
        ("allow Bash(python3.11 -c:*)", "too broad"),
        ("allow Bash(/usr/bin/python)", "too broad"),
        ("allow Bash(python *)", "too broad"),
        ("allow Bash(node -e:*)", "too broad"),
        ("allow Bash(sudo:*)", "too broad"),
        ("allow Bash(env FOO=1:*)", "too broad"),
        ("allow Bash(npx:*)", "too broad"),
        ("allow Bash(xargs:*)", "too broad"),
        ("allow Bash(npm exec:*)", "too broad"),
        ("allow Bash(* --version)", "too broad"),
        ("allow Bash(git*)", "too broad"),
        ("allow write_file(//**)", "too broad"),
        ("allow write_file(~/**)", "too broad"),
    ],
)
def test_what_cannot_be_taken_at_its_word_is_an_error_that_names_the_rule(text, why):
    with pytest.raises(ProblemRaised) as raised:
        parse_rule(text, canonical, RuleOrigin(RuleSource.PROJECT, "conf.toml", 7))

    problem = raised.value.problem
    assert problem.code == "invalid_arguments"
    assert "conf.toml:7" in problem.message
    assert repr(text)[:25].rstrip("'") in problem.message
    assert why in problem.message


@pytest.mark.parametrize(
    "text",
    [
        "allow Bash(python -m pytest:*)",
        "allow Bash(python scripts/build.py)",
        "allow Bash(bash scripts/check.sh:*)",
        "allow Bash(git status:*)",
        "allow Bash(npm run build:*)",
        "allow Bash(make:*)",
        "allow Bash(docker ps:*)",
        "allow edit_file",
        "allow read_file(~/notes/**)",
        "allow mcp__github__*",
    ],
)
def test_a_person_may_allow_what_has_a_bound(text):
    assert rule(text).effect is Effect.ALLOW


def test_an_unending_pattern_is_matched_in_little_time():
    from tests.policy.rule_support import call, effect, rules

    star = "*a" * 60 + "b"
    deep = "/".join(["**", "a"] * 60) + "/b"
    many = rules(f"deny write_file({star})", f"deny write_file({deep})", "deny write_file((a+)+$)")

    assert effect(many, call("write_file", "a" * 255)) is None
    assert effect(many, call("write_file", "/".join("a" * 500))) is None
    assert effect(many, call("write_file", "(a+)+$")) == "deny"
