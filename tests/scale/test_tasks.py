"""Every line of a file of tasks is checked, with its number, before anything starts."""

import json
from pathlib import Path

import pytest

from handrail.core.problems import ProblemRaised
from handrail.scale.tasks import parse_task, read_tasks, task_lines
from handrail.scale.tenants import TenantLimits

GOOD = {"id": "a", "workspace": ".", "prompt": "Do it"}
COMMIT = "0" * 40


def test_a_line_gives_a_task(tmp_path):
    line = {
        **GOOD,
        "workspace": {"git": "https://example.org/r.git", "commit": COMMIT},
        "model": "m",
        "agent": "reviewer",
        "budget": {"tokens": 100, "usd": 0.5},
        "checks": ["true"],
        "tenant": "alpha",
        "collect": "commit",
        "max_steps": 3,
    }

    task = parse_task(json.dumps(line), 1, tmp_path).task

    assert (task.source.kind, task.source.commit, task.collect) == ("git", COMMIT, "commit")
    assert (task.budget.tokens, task.budget.usd, task.checks) == (100, 0.5, ("true",))


def test_places_are_relative_to_the_file(tmp_path):
    path = tmp_path / "sub" / "tasks.jsonl"
    path.parent.mkdir()
    path.write_text(json.dumps({**GOOD, "workspace": "../w", "model": "script:m.jsonl"}) + "\n\n")

    (line,) = read_tasks(path)

    assert line.task.source.place == str(tmp_path / "w")
    assert line.task.model == f"script:{tmp_path / 'sub' / 'm.jsonl'}"


@pytest.mark.parametrize(
    "change",
    [
        {"id": "../../etc"},
        {"id": "a/b"},
        {"id": "-rf"},
        {"id": "a\0b"},
        {"id": "\u202eevil"},
        {"id": ""},
        {"id": 7},
        {"id": "x" * 101},
        {"tenant": "../x"},
        {"prompt": "  "},
        {"prompt": "\ud800"},
        {"workspace": 3},
        {"workspace": ""},
        {"workspace": {}},
        {"workspace": {"directory": "a", "tarball": "b"}},
        {"workspace": {"directory": "a\0b"}},
        {"workspace": {"directory": "a", "in_place": "yes"}},
        {"workspace": {"git": "https://example.org/r", "commit": "main"}},
        {"workspace": {"git": "https://example.org/r", "commit": "--upload-pack=x"}},
        {"workspace": {"git": "ext::sh -c id", "commit": COMMIT, "depth": 1}},
        {"workspace": {"git": "ext::sh://x", "commit": COMMIT}},
        {"workspace": {"git": "ssh://-oProxyCommand=id/r", "commit": COMMIT}},
        {"workspace": {"tarball": "x", "commit": COMMIT}},
        {"budget": "tokens=many"},
        {"budget": ["tokens"]},
        {"budget": {"tokens": 10**400}},
        {"workspace": "~there-is-no-such-user/w"},
        {"workspace": {"git": "https://example.org/r", "commit": "0" * 64}},
        {"workspace": {"git": "git@example.org:a/b", "commit": COMMIT}},
        {"checks": "true"},
        {"checks": [""]},
        {"checks": ["true"] * 51},
        {"collect": "everything"},
        {"collect": "commit"},
        {"max_steps": 0},
        {"surprise": 1},
    ],
    ids=str,
)
def test_a_wrong_line_is_refused_with_its_number(change, tmp_path):
    with pytest.raises(ProblemRaised) as raised:
        parse_task(json.dumps({**GOOD, **change}), 17, tmp_path)

    assert raised.value.problem.code == "invalid_arguments"
    assert raised.value.problem.message.startswith("line 17: ")


def test_links_in_a_circle_are_no_workspace(tmp_path):
    (tmp_path / "circle").symlink_to("circle")

    with pytest.raises(ProblemRaised) as raised:
        parse_task(json.dumps({**GOOD, "workspace": "circle"}), 1, tmp_path)

    assert raised.value.problem.code == "invalid_arguments"


@pytest.mark.parametrize("given", [5, None, {**GOOD, "workspace": Path()}, {**GOOD, "id": b"a"}])
def test_a_program_gives_mappings_of_json_values(given, tmp_path):
    with pytest.raises(ProblemRaised) as raised:
        list(task_lines([GOOD, given], tmp_path))

    assert raised.value.problem.message.startswith("line 2: ")


def test_a_small_amount_of_money_is_a_budget(tmp_path):
    line = parse_task(json.dumps({**GOOD, "budget": {"usd": 0.00001}}), 1, tmp_path)

    assert line.task.budget.usd == 0.00001


def test_a_refused_url_is_shown_without_its_login(tmp_path):
    source = {"git": "svn://me:hidden@example.org/r", "commit": COMMIT}

    with pytest.raises(ProblemRaised) as raised:
        parse_task(json.dumps({**GOOD, "workspace": source}), 1, tmp_path)

    assert "example.org" in raised.value.problem.message
    assert "hidden" not in raised.value.problem.message


@pytest.mark.parametrize(
    "line",
    [b"{", b"[1]", b'"x"', b"\xff\xfe{}", b'{"id": "a", "id": "b"}', b'{"id": NaN}', b"[" * 9999],
)
def test_what_is_not_a_json_object_is_refused(line, tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b"\n" + line + b"\n")

    with pytest.raises(ProblemRaised) as raised:
        list(read_tasks(path))

    assert raised.value.problem.message.startswith(f"{path}, line 2")


def test_limits_of_a_tenant_are_read():
    name, limits = TenantLimits.parse("alpha:agents=4,processes=2,tokens=2m,usd=1.5")

    assert (name, limits) == ("alpha", TenantLimits(4, 2, 2_000_000, 1.5))


@pytest.mark.parametrize("text", ["alpha", "a:agents=0", "a:cores=2", ":agents=1", "a:tokens=x"])
def test_wrong_limits_are_refused(text):
    with pytest.raises(ProblemRaised) as raised:
        TenantLimits.parse(text)

    assert raised.value.problem.code == "invalid_arguments"


@pytest.mark.parametrize(("line", "column"), [('{"id" 1}', 7), ('  {"id": "a" "b": 1}', 14)])
def test_malformed_json_has_its_file_line_and_column(line, column, tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_text(f"\n{line}\n")

    with pytest.raises(ProblemRaised) as raised:
        list(read_tasks(path))

    where, _, reason = raised.value.problem.message.partition(": ")
    assert where == f"{path}, line 2, column {column}"
    assert "char" not in reason
