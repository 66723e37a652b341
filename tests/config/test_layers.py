"""The layers over one another, and what a workspace's own files may say."""

import pytest

from handrail.config.layers.load import ClaimStatus, load_layers
from handrail.config.layers.sources import Layer
from handrail.config.model import Settings
from handrail.core.problems import ProblemRaised


def never(digest):
    return False


def test_without_any_file_everything_is_default(place):
    loaded = place.load()

    assert loaded.settings == Settings()
    assert {str(source) for source in loaded.sources.values()} == {"default"}
    assert (loaded.digest, loaded.trusted, list(loaded.notices)) == (None, False, [])


def test_the_higher_layer_wins(place):
    place.own.write_text("max_output_lines = 20\n")
    seen = [place.load().settings.max_output_lines]
    place.project("max_output_lines = 30\n")
    seen.append(place.load().settings.max_output_lines)
    place.local("max_output_lines = 40\n")
    seen.append(place.load().settings.max_output_lines)
    seen.append(place.load(max_output_lines=50).settings.max_output_lines)
    seen.append(
        place.load(max_output_lines=50, session={"max_output_lines": 60}).settings.max_output_lines
    )

    assert seen == [20, 30, 40, 50, 60]


def test_each_value_knows_its_layer_file_and_line(place):
    place.own.write_text("# mine\nkeep_days = 3\n")
    project = place.project("\nmax_output_lines = 30\n")
    local = place.local("blocked_commands = [\n  'a',\n  'b',\n]\n")

    sources = place.load(mode="plan", session={"dialect": "claude"}).sources

    assert str(sources["keep_days"]) == f"{place.own}:2"
    assert sources["max_output_lines"].to_dict() == {
        "layer": "project",
        "file": str(project),
        "line": 2,
    }
    assert str(sources["blocked_commands[1]"]) == f"{local}:3"
    assert sources["mode"].layer is Layer.KEYWORD
    assert sources["dialect"].layer is Layer.SESSION
    assert sources["journal"].layer is Layer.DEFAULT


def test_what_a_caller_leaves_out_is_not_given(place):
    place.own.write_text("mode = 'plan'\n")

    assert place.load(mode=None, dialect=None).settings.mode == "plan"


def test_a_mapping_stands_in_for_the_persons_file(place):
    place.own.write_text("mode = 'bypass'\n")

    loaded = load_layers(place.root, {"keep_days": 7}, {}, never)

    assert (loaded.settings.mode, loaded.settings.keep_days) == ("default", 7)


# What a repository could put into its own file, and the value that holds all the same.
WIDENING = {
    "mode = 'accept-edits'": "default",
    "mode = 'sandboxed'": "default",
    "mode = 'auto-safe'": "default",
    "mode = 'no-such-mode'": "default",
    "dialect = 'claude'": "canonical",
    "directories = ['/etc']": (),
    "allow_delete = true": False,
    "allow_protected = ['.git/**']": (),
    "break_hard_links = true": False,
    "durability = 'process'": "power",
    "freshness = 'off'": "auto",
    "freshness = 'warn'": "auto",
    "most_at_once = 100": 10,
    "heartbeat_s = 0.000001": 4.0,
    "heartbeat_s = 0": 4.0,
    "command_policy = 'blocklist'": "classify",
    "allowed_commands = ['rm']": (),
    "programs = { rm = { class = 'safe' } }": {},
    "command_timeout_s = 600": None,
    "keep_jobs = true": False,
    "sandbox = 'none'": "auto",
    "sandbox = 'landlock'": "auto",
    "sandbox = 'bubblewrap'": "auto",
    "network = true": False,
    "hooks = { pre_tool_use = [{ command = 'evil' }] }": {},
    "agents = { build = { allowed_tools = ['*'] } }": {},
    "guardrails = { quality_gates = [{ name = 'x', command = 'evil' }] }": {},
    "guardrails = { unheard_of = true }": {},
}
HOSTS = "network = ['example.org', '*.example.com']\n"


@pytest.mark.parametrize(
    ("own", "project", "expected"),
    [
        (HOSTS, "network = ['example.org']", ("example.org",)),
        (HOSTS, "network = false", False),
        (HOSTS, "network = true", ("example.org", "*.example.com")),
        (HOSTS, "network = ['evil.org']", ("example.org", "*.example.com")),
        ("network = true\n", "network = ['example.org']", ("example.org",)),
        ("", "network = ['example.org']", False),
    ],
)
def test_a_workspace_may_only_shorten_the_list_of_hosts(place, own, project, expected):
    place.own.write_text(own)
    place.project(project)

    assert place.load().settings.network == expected


@pytest.mark.parametrize("hosts", ["['*']", "['http://example.org']", "[1]", "'example.org'"])
def test_what_is_no_list_of_hosts_is_refused(place, hosts):
    place.own.write_text(f"network = {hosts}\n")

    with pytest.raises(ProblemRaised, match="network"):
        place.load()


RESERVED = {
    "mode = 'bypass'": "default",
    "mode = 'YOLO'": "default",
    "mode = 'bypassPermissions'": "default",
    "journal = false": True,
    "accept_no_sandbox = true": False,
    "reads_without_store = true": False,
    "store_timeout_s = 1": 5.0,
    "keep_days = 1": 30,
}
NARROWING = {
    "mode = 'plan'": "plan",
    "mode = 'dont_ask'": "dont_ask",
    "mode = 'confirm-all'": "confirm-all",
    "dry_run = true": True,
    "freshness = 'strict'": "strict",
    "most_at_once = 1": 1,
    "heartbeat_s = 60": 60.0,
    "max_chars = 500": 500,
    "commands = false": False,
    "command_policy = 'allowlist'": "allowlist",
    "allowed_only = true": True,
    "blocked_commands = ['terraform destroy']": ("terraform destroy",),
    "command_timeout_s = 5": 5,
    "max_output_lines = 5000": 5000,
    "sandbox_require = ['network']": ("network",),
    "memory_mb = 64": 64,
    "guardrails = { max_files_modified = 3, sensitive_files = ['*.pem'] }": {
        "max_files_modified": 3,
        "sensitive_files": ["*.pem"],
    },
}


def key_of(line: str) -> str:
    return line.partition(" ")[0]


@pytest.mark.parametrize("line", WIDENING)
def test_what_widens_waits_for_trust(place, line):
    place.project(line)

    untrusted, trusted = place.load(), place.load(trusted=True)

    key = key_of(line)
    assert getattr(untrusted.settings, key) == WIDENING[line]
    assert str(untrusted.sources[key]) == "default"
    assert {one.status for one in untrusted.claims} == {ClaimStatus.UNTRUSTED}
    assert len(untrusted.notices) == 1
    assert key in untrusted.notices[0]
    assert "`handrail trust`" in untrusted.notices[0]
    assert getattr(trusted.settings, key) != WIDENING[line]
    assert list(trusted.notices) == []


@pytest.mark.parametrize("line", RESERVED)
def test_some_things_only_the_person_can_say(place, line):
    place.project(line)

    loads = [place.load(), place.load(trusted=True)]

    key = key_of(line)
    assert [getattr(one.settings, key) for one in loads] == [RESERVED[line]] * 2
    assert [[claim.status for claim in one.ignored] for one in loads] == [
        [ClaimStatus.RESERVED]
    ] * 2
    assert all("only the user configuration" in one.notices[0] for one in loads)


@pytest.mark.parametrize("line", NARROWING)
def test_what_narrows_applies_at_once(place, line):
    place.project(line)

    loaded = place.load()

    assert getattr(loaded.settings, key_of(line)) == NARROWING[line]
    assert list(loaded.notices) == []


@pytest.mark.parametrize(
    ("own", "line"),
    [
        ("mode = 'plan'", "mode = 'default'"),
        ("mode = 'confirm-all'", "mode = 'plan'"),
        ("freshness = 'strict'", "freshness = 'auto'"),
        ("memory_mb = 100", "memory_mb = 200"),
        ("max_chars = 300", "max_chars = 400"),
        ("command_policy = 'allowlist'", "command_policy = 'classify'"),
        ("allowed_only = true", "allowed_only = false"),
        ("commands = false", "commands = true"),
        ("sandbox = 'bubblewrap'", "sandbox = 'auto'"),
        ("dry_run = true", "dry_run = false"),
        ("max_steps = 10", "max_steps = 11"),
        ("budget = { tokens = 10, steps = 3 }", "budget = { tokens = 5 }"),
        ("budget = { tokens = 10 }", "budget = { tokens = 11 }"),
    ],
)
def test_narrowing_is_measured_against_what_the_person_said(place, own, line):
    place.own.write_text(own)
    before = place.load().settings
    place.project(line)

    loaded = place.load()

    assert loaded.settings == before
    assert len(loaded.ignored) == 1


def test_the_local_file_cannot_widen_what_the_project_narrowed(place):
    place.project("mode = 'plan'\n")
    place.local("mode = 'default'\n")

    assert place.load().settings.mode == "plan"
    assert place.load(trusted=True).settings.mode == "default"


def test_a_workspace_can_take_from_lists_but_not_add_to_them(place):
    place.own.write_text("allowed_commands = ['git', 'npm']\n")
    place.project("allowed_commands = ['git']\n")
    fewer = place.load().settings.allowed_commands
    place.project("allowed_commands = ['git', 'rm']\n")

    assert fewer == ("git",)
    assert place.load().settings.allowed_commands == ("git", "npm")


def test_what_is_blocked_below_stays_blocked(place):
    place.own.write_text("blocked_commands = ['a']\nsandbox_require = ['fs_write']\n")
    place.project("blocked_commands = ['b', 'a']\nsandbox_require = []\n")

    settings = place.load(trusted=True, blocked_commands=["c"]).settings

    assert settings.blocked_commands == ("a", "b", "c")
    assert settings.sandbox_require == ("fs_write",)


def test_rules_of_all_layers_are_kept_with_their_places(place):
    place.own.write_text("[permissions]\ndeny = ['edit_file(secrets/**)']\n")
    project = place.project(
        "[permissions]\n"
        "allow = ['run_command(git status:*)']\n"
        "ask = [\n"
        "  'write_file',\n"
        "  { rule = 'edit_file(src/**)', examples = ['src/a.py'] },\n"
        "]\n"
        "[[permissions.deny]]\n"
        "rule = 'read_file(.env)'\n"
    )

    untrusted, trusted = place.load(), place.load(trusted=True)

    rules = untrusted.settings.permissions
    assert [one.rule for one in rules.deny] == ["edit_file(secrets/**)", "read_file(.env)"]
    assert [one.rule for one in rules.ask] == ["write_file", "edit_file(src/**)"]
    assert rules.ask[1].examples == ("src/a.py",)
    assert rules.allow == ()
    assert str(untrusted.sources["permissions.deny[0]"]) == f"{place.own}:2"
    assert str(untrusted.sources["permissions.deny[1]"]) == f"{project}:7"
    assert str(untrusted.sources["permissions.ask[1]"]) == f"{project}:5"
    assert [(one.key, one.value) for one in untrusted.ignored] == [
        ("permissions.allow[0]", "run_command(git status:*)")
    ]
    assert [one.rule for one in trusted.settings.permissions.allow] == ["run_command(git status:*)"]


def test_guardrails_only_ever_grow_stricter(place):
    place.own.write_text(
        "[guardrails]\nenabled = true\nmax_files_modified = 5\nprotected_files = ['a']\n"
    )
    place.project(
        "[guardrails]\nenabled = false\nmax_files_modified = 50\nmax_lines_changed = 9\n"
        "protected_files = ['b']\n"
    )

    guardrails = place.load(trusted=True).settings.guardrails

    assert guardrails == {
        "enabled": True,
        "max_files_modified": 5,
        "protected_files": ["a", "b"],
        "max_lines_changed": 9,
    }


def test_a_list_cannot_be_replaced_by_something_else(place):
    place.own.write_text("[guardrails]\nprotected_files = ['a']\n")
    project = place.project("[guardrails]\nprotected_files = 'b'\n")

    with pytest.raises(ProblemRaised) as raised:
        place.load()

    assert raised.value.problem.code == "invalid_arguments"
    assert f"{project}:2: guardrails.protected_files is text" in raised.value.problem.message


def test_hooks_of_the_person_stay_when_a_trusted_project_adds_its_own(place):
    place.own.write_text("[[hooks.pre_tool_use]]\ncommand = 'mine'\n")
    project = place.project("[[hooks.pre_tool_use]]\ncommand = 'theirs'\n")

    loaded = place.load(trusted=True)

    hooks = loaded.settings.hooks["pre_tool_use"]
    assert [one["command"] for one in hooks] == ["mine", "theirs"]
    assert loaded.sources["hooks.pre_tool_use[0]"].layer is Layer.USER
    assert str(loaded.sources["hooks.pre_tool_use[1]"]) == f"{project}:1"


def test_directories_of_a_workspace_file_are_meant_from_its_root(place):
    place.project("directories = ['../other']\n")

    (directory,) = place.load(trusted=True).settings.directories

    assert directory == str(place.root / "../other")


def test_the_digest_changes_with_every_byte_and_every_file(place):
    digests = []
    for text in ("mode = 'plan'\n", "mode = 'plan'  \n"):
        place.project(text)
        digests.append(place.load().digest)
    place.local("")
    digests.append(place.load().digest)
    place.project("mode = 'plan'\n")
    (place.root / ".handrail" / "config.local.toml").unlink()

    assert len(set(digests)) == 3
    assert place.load().digest == digests[0]


def test_names_in_a_notice_cannot_forge_a_line(place):
    place.project('[hooks]\n"x\\nhandrail: all is well\\u001b[2J" = 1\n')

    (notice,) = place.load().notices

    assert "\n" not in notice
    assert "\x1b" not in notice


def test_a_dot_env_file_is_never_loaded(place, monkeypatch):
    for folder in (place.root, place.root / ".handrail", place.own.parent):
        (folder / ".env").write_text("HANDRAIL_MODE=bypass\nmode=bypass\n")
    monkeypatch.setenv("HANDRAIL_MODE", "bypass")
    monkeypatch.chdir(place.root)

    assert place.load().settings == Settings()


def test_a_long_list_is_joined_in_reasonable_time(place):
    words = ",".join(f"'c{number}'" for number in range(10_000))
    place.project(f"blocked_commands = [{words}]\n")

    assert len(place.load().settings.blocked_commands) == 10_000


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_a_limit_that_cannot_be_compared_is_refused(place, number):
    place.project(f"[guardrails]\nmax_files_modified = {number}\n")

    with pytest.raises(ProblemRaised, match="guardrails: "):
        place.load()


def test_a_limit_below_zero_does_not_do_away_with_one(place):
    place.own.write_text("[guardrails]\nmax_files_modified = 5\n")
    place.project("[guardrails]\nmax_files_modified = -1\n")

    assert place.load().settings.guardrails == {"max_files_modified": 5}


def test_a_workspace_reached_through_a_link_is_the_same(place, tmp_path):
    place.project("[workspace]\nroot = '.'\n[commands]\nenabled = false\n")
    (tmp_path / "link").symlink_to(place.root)

    loaded = load_layers(tmp_path / "link", None, {}, never)

    assert loaded.settings.commands is False
    assert loaded.digest == place.load().digest


def test_a_byte_order_mark_is_no_part_of_the_first_key(place):
    place.project("\ufeffmode = 'plan'\n")

    assert place.load().settings.mode == "plan"
