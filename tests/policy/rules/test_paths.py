"""Rules about paths bind the thing, by whatever name and with whatever tool it is touched."""

import os

import pytest
from tests.policy.rule_support import ALLOW, ASK, DENY, CommandClass, call, command, effect, rules

from handrail.core.footprint import NOTHING, OPEN_ENDED
from handrail.core.places import Kind, Place
from handrail.core.plan import Change, Plan
from handrail.core.text.content import Content
from handrail.core.traits import ToolTraits
from handrail.core.verdicts import Risk
from handrail.host.files.local_files import LocalFiles
from handrail.policy.policy_input import PolicyInput
from handrail.policy.rules.paths.pattern import PathBase
from handrail.policy.rules.rule_set import DenialEnforcement

SECRETS = "deny write_file(secrets/**)"


@pytest.mark.parametrize(
    "path",
    [
        "secrets/key",
        "secrets/a/b/c",
        "secrets",
        "SECRETS/Key",
        "Secrets/key",
        "secrets./key",
        "\u017fecrets/key",
        "sec\u200crets/key",
        "/other/secrets/key",
    ],
)
def test_a_denied_folder_is_denied_by_every_spelling(path):
    assert effect(rules(SECRETS), call("write_file", path)) == DENY


def test_the_case_of_the_rule_does_not_count_either():
    assert effect(rules("deny write_file(Secrets/*.KEY)"), call("write_file", "secrets/a.key")) == (
        DENY
    )


@pytest.mark.parametrize("path", ["secret/key", "secretsx/key", "src/secrets/key", "my/secrets"])
def test_a_denied_folder_is_not_its_neighbour(path):
    assert effect(rules(SECRETS), call("write_file", path)) is None


@pytest.mark.parametrize(
    "tool", ["write_file", "edit_file", "apply_patch", "delete_file", "notebook_edit", "own_tool"]
)
def test_a_deny_about_one_writing_tool_binds_all_of_them(tool):
    assert effect(rules(SECRETS), call(tool, "secrets/key")) == DENY


@pytest.mark.parametrize("tool", ["read_file", "grep", "list_files", "find_files", "file_info"])
def test_a_deny_about_reading_binds_every_tool_that_reads(tool):
    assert effect(rules("deny Read(secrets/**)"), call(tool, "secrets/key")) == DENY


def test_a_deny_about_reading_stops_edits_that_would_quote_the_file():
    denied = rules("deny read_file(secrets/**)")

    assert effect(denied, call("edit_file", "secrets/key")) == DENY
    assert effect(denied, call("write_file", "secrets/key")) is None


def test_a_deny_about_writing_leaves_reading_alone():
    assert effect(rules(SECRETS), call("read_file", "secrets/key")) is None


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        (
            "*.pem",
            ["a.pem", ".pem", "x/.pem/y", "x/y/A.PEM", "/srv/me/k.pem"],
            ["a.pem.txt", "pem"],
        ),
        (".env", [".env", "a/.env", ".ENV"], [".env.local", "env"]),
        ("**/.env.*", [".env.local", "a/b/.env.x"], [".env"]),
        ("/build", ["build", "build/x", "/build/x"], ["src/build"]),
        ("build/", ["build", "build/a", "src/build/a"], ["builds/a"]),
        ("src/*/gen", ["src/a/gen", "src/a/gen/x"], ["src/gen", "src/a/b/gen"]),
        ("src/**/gen", ["src/gen", "src/a/b/gen/x"], ["gen"]),
        ("./src/a.py", ["src/a.py"], ["x/src/a.py"]),
        ("*.{key,crt}", ["a.key", "b/c.crt"], ["a.k", "a.{key,crt}"]),
        ("a[0-9]?.txt", ["a1x.txt"], ["a1.txt", "axx.txt"]),
        ("a[!0-9].txt", ["ab.txt"], ["a1.txt"]),
        (r"a\*.txt", ["a*.txt"], ["ab.txt"]),
        ("//etc/**", ["/etc/passwd"], ["etc/passwd"]),
        ("/etc/passwd", ["/etc/passwd", "etc/passwd"], ["/ws/x/etc/passwd"]),
        ("~/.ssh/**", ["/home/me/.ssh/id"], ["/home/you/.ssh/id", ".ssh/id"]),
        ("**", ["a", "x/y", "/anywhere"], []),
        ("*", ["a", "x/y"], []),
    ],
)
def test_a_pattern_is_read_as_in_a_gitignore(pattern, inside, outside):
    denied = rules(f"deny write_file({pattern})")

    assert [path for path in inside if effect(denied, call("write_file", path)) != DENY] == []
    assert [path for path in outside if effect(denied, call("write_file", path))] == []


def test_an_allow_is_read_narrowly():
    allowed = rules("allow edit_file(src/**)", "allow edit_file(docs/*)", "allow edit_file(*.md)")

    covered = ["src/a.py", "src/a/b.py", "docs/x", "x/y/README.md"]
    others = ["src", "SRC/a.py", "docs/a/b", "/other/src/a.py", "srcx/a", "README.MD", "/x/a.md"]
    assert [path for path in covered if effect(allowed, call("edit_file", path)) != ALLOW] == []
    assert [path for path in others if effect(allowed, call("edit_file", path))] == []


def test_an_allow_is_for_its_own_tool_only():
    allowed = rules("allow edit_file(src/**)")

    assert effect(allowed, call("write_file", "src/a")) is None
    assert effect(allowed, command("sed -i s/a/b/ src/a", writes=("/ws/src/a",))) is None


def test_an_allow_covers_a_tree_only_if_it_covers_all_of_it():
    allowed = rules("allow grep(src/**)", "allow list_files(docs/*)")

    assert effect(allowed, call("grep", "src", tree=True)) == ALLOW
    assert effect(allowed, call("grep", "src/a", tree=True)) == ALLOW
    assert effect(allowed, call("grep", "", tree=True)) is None
    assert effect(allowed, call("list_files", "docs/a", tree=True)) is None


def test_an_allow_needs_every_path_of_a_patch():
    allowed = rules("allow apply_patch(src/**)")

    assert effect(allowed, call("apply_patch", "src/a", "src/b")) == ALLOW
    assert effect(allowed, call("apply_patch", "src/a", "Makefile")) is None
    assert effect(allowed, call("apply_patch")) is None


def test_a_plan_is_bound_as_the_call_is():
    place = Place(0, "secrets/key", "secrets/key", "/ws/secrets/key", Kind.FILE)
    plan = Plan((Change(place, None, Content(b"x")),), "done")
    undo = PolicyInput("undo", Risk.MODERATE, OPEN_ENDED, False, plan, True)

    assert effect(rules(SECRETS), undo) == DENY
    assert effect(rules("ask edit_file(secrets/**)"), undo) == ASK


def test_a_path_is_denied_by_every_name_on_the_way_to_it():
    links = {"via": ("/ws/secrets/key", "/ws/link/key")}

    assert effect(rules(SECRETS), call("write_file", "real/key", **links)) == DENY
    assert effect(rules("deny read_file(link/**)"), call("read_file", "real/key", **links)) == DENY
    assert effect(rules("allow read_file(link/**)"), call("read_file", "real/key", **links)) is None


def test_a_denied_link_denies_what_it_leads_to(tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "secrets").symlink_to(real)
    path_base = PathBase((str(tmp_path),), "/home/me", os.path.realpath)

    denied = rules(SECRETS, path_base=path_base)

    assert effect(denied, call("write_file", str(real / "key"))) == DENY


@pytest.mark.parametrize(
    "spelling", ["secrets/key", "./secrets/key", "src/../secrets/key", "way/key", "secrets//key"]
)
def test_real_spellings_of_one_file_are_one_file(tmp_path, spelling):
    (tmp_path / "secrets").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "way").symlink_to("secrets")
    files = LocalFiles([tmp_path])
    try:
        place = files.locate(spelling)
    finally:
        files.close()
    subject = call("write_file", place.absolute)._replace(places=(place,))

    denied = rules(SECRETS, path_base=PathBase((str(tmp_path),)))

    assert effect(denied, subject) == DENY


def test_a_worktree_beside_the_workspace_is_a_root_like_the_first():
    path_base = PathBase(("/ws", "/ws/.worktrees/feature"))
    both = rules(SECRETS, "allow edit_file(src/**)", path_base=path_base)

    assert effect(both, call("edit_file", ".worktrees/feature/secrets/key")) == DENY
    assert effect(both, call("edit_file", ".worktrees/feature/src/a.py")) is None


# --- commands by their effects ------------------------------------------------------------


@pytest.mark.parametrize(
    "writes",
    [
        "/ws/secrets/key",
        "/ws/SECRETS/key",
        "/ws/secrets/",
        "/ws/secrets",
        "/ws/secrets/*",
        "/ws/s*/key",
        "/ws/secret?/key",
        "/ws/[r-t]ecrets/key",
        "/ws/[t-r]ecrets/key",
        "/*/secrets/key",
        "/ws/**/key",
        "/ws/",
        "/ws",
        "/",
    ],
)
def test_a_deny_about_writing_binds_commands_that_write(writes):
    assert effect(rules(SECRETS), command("tee", writes=(writes,))) == DENY


def test_a_deny_about_writing_leaves_commands_alone_that_write_elsewhere():
    both = rules(SECRETS, "deny write_file(*.pem)")
    writes = ("/ws/a.txt", "/ws/src/", "/ws/out/*.txt", "/ws/secretsx")

    assert effect(rules(SECRETS), command("tee", writes=writes)) is None
    assert effect(both, command("touch", writes=("/ws/a.txt",))) is None
    assert effect(both, command("rm", writes=("/ws/src/",))) == DENY


@pytest.mark.parametrize("reads", ["/ws/secrets/key", "/ws/secrets", "/ws/", "/ws/s*s/key"])
def test_a_deny_about_reading_binds_commands_that_read(reads):
    denied = rules("deny read_file(secrets/**)")

    assert effect(denied, command("cat", reads=(reads,), safety_class=CommandClass.SAFE)) == DENY
    assert effect(denied, command("cat", reads=("/ws/a",), safety_class=CommandClass.SAFE)) is None


def test_a_shell_pattern_that_finds_no_dotted_names_is_asked_about():
    denied = rules("deny read_file(.env)")

    assert effect(denied, command("cat", reads=("/ws/*",), safety_class=CommandClass.SAFE)) == ASK
    assert (
        effect(denied, command("cat", reads=("/ws/.e*",), safety_class=CommandClass.SAFE)) == DENY
    )
    assert (
        effect(denied, command("cat", reads=("/ws/*.py",), safety_class=CommandClass.SAFE)) is None
    )


def test_a_command_of_unknown_effects_is_asked_about_where_a_path_is_denied():
    unknown = command("npm test", open_ended=True)
    denied = rules(SECRETS, "allow run_command(npm test:*)")

    verdict = denied.judge(unknown)

    assert verdict.effect.value == ASK
    assert "it is unknown which files" in verdict.reason
    assert SECRETS in verdict.reason
    assert effect(denied, command("cat x", safety_class=CommandClass.DANGEROUS)) == ASK
    assert effect(rules("ask write_file(x)"), unknown) is None


SECRET = "deny read_file(secrets/**)"
HIDING = DenialEnforcement(commands=lambda analysis: True)


def test_where_the_sandbox_hides_denied_paths_the_command_is_as_any_other():
    held = rules(SECRET, "allow Bash(npm test:*)", enforcement=HIDING)

    assert effect(held, command("npm test", open_ended=True)) == ALLOW
    assert effect(held, command("npm test", open_ended=True, unconfined=True)) == ASK
    assert effect(held, command("tee x", writes=("/ws/secrets/x",))) == DENY


@pytest.mark.parametrize("reads", ["/ws/", "/ws/*", "/ws/s*/key", "/ws/**/key"])
def test_a_tree_or_a_wildcard_may_be_read_where_the_rest_of_it_is_hidden(reads):
    reading = command("cat", reads=(reads,), safety_class=CommandClass.SAFE)

    assert effect(rules(SECRET), reading) == DENY
    assert effect(rules(SECRET, enforcement=HIDING), reading) is None
    assert effect(rules("ask read_file(secrets/**)", enforcement=HIDING), reading) == ASK
    assert effect(rules("deny list_files(secrets/**)", enforcement=HIDING), reading) == DENY


@pytest.mark.parametrize(
    ("words", "safety_class", "expected"),
    [
        ("cat secrets/key", CommandClass.DANGEROUS, DENY),
        ("git show HEAD:secrets/key", CommandClass.DANGEROUS, DENY),
        ("make FILE=secrets/key", CommandClass.DEV, ASK),
    ],
)
def test_a_word_that_names_a_hidden_path_counts_all_the_same(words, safety_class, expected):
    named = command(words, safety_class=safety_class, open_ended=True)

    assert effect(rules(SECRET, enforcement=HIDING), named) == expected


def test_hiding_says_nothing_about_writing_and_names():
    unknown = command("npm test", open_ended=True)

    assert effect(rules(SECRETS, enforcement=HIDING), unknown) == ASK
    assert effect(rules(SECRET, SECRETS, enforcement=HIDING), unknown) == ASK
    assert effect(rules("deny find_files(.env)", enforcement=HIDING), unknown) == ASK
    assert effect(rules(SECRET, enforcement=HIDING), unknown) is None


def test_another_tool_that_reads_a_tree_reads_what_a_search_leaves_out():
    enforcement = DenialEnforcement(searches=lambda: True)
    reading = call("grep", "", tree=True)._replace(tool="count_words", traits=ToolTraits())

    assert effect(rules(SECRET, enforcement=enforcement), reading) == DENY


def test_a_search_over_a_denied_path_is_denied_unless_the_search_leaves_it_out():
    everywhere = call("grep", "", tree=True)
    denied = ("deny read_file(.env)", "deny read_file(secrets/**)")

    assert [effect(rules(one), everywhere) for one in denied] == [DENY, DENY]
    left_out = [rules(one, enforcement=DenialEnforcement(searches=lambda: True)) for one in denied]
    assert [effect(one, everywhere) for one in left_out] == [None, None]
    assert effect(left_out[1], call("grep", "secrets/a", tree=True)) == DENY


@pytest.mark.parametrize(
    ("pattern", "met", "others"),
    [
        ("src/*.txt", ["", "src", "src/a.txt", "src/a.txt/b"], ["src/a", "docs", "srcs"]),
        ("src/**/gen", ["", "src", "src/a", "src/a/gen"], ["docs", "gen"]),
        ("src/*/gen", ["", "src", "src/a", "src/a/gen/x"], ["src/a/b", "docs/a"]),
        ("secrets/key", ["", "secrets", "secrets/key"], ["secrets/other", "secrets/keys", "src"]),
        ("secrets-*/key", ["", "secrets-a", "secrets-a/key"], ["secrets", "secrets-a/b"]),
        (".env", ["", "src"], []),
        ("*.pem", ["", "src", "a.pem"], []),
        ("[ab]", ["", "src", "a"], []),
    ],
)
def test_a_search_in_a_tree_meets_the_rules_about_what_may_be_in_it(pattern, met, others):
    denied = rules(f"deny read_file({pattern})")

    searched = {path: effect(denied, call("grep", path, tree=True)) for path in [*met, *others]}

    assert searched == {**dict.fromkeys(met, DENY), **dict.fromkeys(others)}


def test_names_may_be_listed_around_a_file_that_may_not_be_read():
    everywhere = call("list_files", "", tree=True)

    assert effect(rules("deny read_file(.env)"), everywhere) is None
    assert effect(rules("deny list_files(.env)"), everywhere) == DENY


def test_a_rule_about_another_tools_paths_is_for_that_tool():
    own = rules("allow read_file(b)").with_rules([])
    from handrail.core.verdicts import Effect
    from handrail.policy.rules.rule import Rule, RuleOrigin, RuleSource

    written = Rule(
        Effect.DENY, "word_count", "src/**", "word_count(src/**)", RuleOrigin(RuleSource.USER)
    )
    both = own.with_rules([written])

    assert effect(both, call("word_count", "src/a")) == DENY
    assert effect(both, call("read_file", "src/a")) is None
    assert effect(both, PolicyInput("word_count", Risk.SAFE, NOTHING, True, None, False)) is None
