"""Code rules and placeholders look at what is added, by whatever way it is written."""

import json

import pytest
from tests.policy.guardrails.rails import change, command, edit, rails

from handrail.core.verdicts import Effect

RULES = rails(
    code_rules=[
        {"pattern": r"\beval\(", "message": "eval runs anything", "severity": "block"},
        {
            "pattern": r"^import pdb$",
            "message": "no debugger",
            "severity": "block",
            "files": ["*.py"],
        },
        {"pattern": r"print\(", "message": "use the log"},
    ]
)


def denied(guard, subject):
    verdict = guard(subject)
    return verdict is not None and (verdict.effect, verdict.code) == (Effect.DENY, "blocked")


@pytest.mark.feature("J05")
def test_a_rule_that_blocks_stops_what_is_added_and_not_what_was_there():
    old = "x = eval(y)\na = 1\n"

    assert denied(RULES, edit(change("a.py", "a = 1\n", "a = eval(b)\n")))
    assert denied(RULES, edit(change("a.py", old, f"{old}z = eval(y)\n")))
    assert denied(RULES, edit(change("a.py", old, f"x = eval(y)\n{old}")))
    assert RULES(edit(change("a.py", old, "x = eval(y)\na = 2\n"))) is None
    assert RULES(edit(change("a.py", old, "a = 1\n"))) is None
    assert RULES(edit(change("a.py", old, None))) is None


def test_the_verdict_quotes_the_line_and_says_why():
    verdict = RULES(edit(change("a.py", None, "a = 1\nb = eval(a)\n")))

    assert verdict.reason.startswith("Guardrail: a.py: 'b = eval(a)': ")
    assert verdict.reason.endswith("eval runs anything")
    assert verdict.rule == r"guardrail:code_rules:\beval\("


def test_a_rule_that_warns_lets_it_happen_and_says_so():
    subject = edit(change("a.py", "print(1)\n", "print(1)\nprint(2)\n"))

    assert RULES(subject) is None
    assert RULES.warnings(subject) == ["guardrail: a.py: 'print(2)': use the log"]
    assert RULES.warnings(edit(change("a.py", "print(1)\n", "print(1)\nx\n"))) == []


def test_a_rule_for_some_files_leaves_the_others():
    assert denied(RULES, edit(change("src/a.PY", None, "import pdb\n")))
    assert RULES(edit(change("a.txt", None, "import pdb\n"))) is None


def test_cells_of_notebooks_are_code():
    cell = {"cell_type": "code", "source": ["import os\n", "import pdb\n", "x"]}
    rule = {"pattern": "^import pdb$", "message": "no", "severity": "block"}

    subject = edit(change("a.ipynb", json.dumps({"cells": []}), json.dumps({"cells": [cell]})))

    assert denied(rails(code_rules=[rule]), subject)


@pytest.mark.parametrize(
    "text",
    [
        "cat > a.py <<'EOF'\nimport pdb\nEOF",
        "echo 'import pdb' >> a.py",
        "printf '%s\\n' 'import pdb' | tee a.py",
        "printf 'x = eval(1)' > b.txt",
        "sed -i 's/x/eval(y)/' a.py",
    ],
)
def test_what_a_command_carries_into_a_file_is_looked_at(text):
    assert denied(RULES, command(text))


def test_a_command_that_writes_nothing_is_not():
    assert RULES(command("grep 'eval(' a.py")) is None
    assert RULES(command("cat > a.txt <<'EOF'\nimport pdb\nEOF")) is None
    assert RULES.warnings(command("echo 'print(1)' > a.py")) != []


# --- placeholders ---------------------------------------------------------------------

WHOLE = "def a():\n    return 1\n\ndef b():\n    return 2\n"
LAZY = "def a():\n    return 3\n\n# ... rest of the code unchanged ...\n"


def test_a_placeholder_is_refused_without_any_setting():
    verdict = rails()(edit(change("a.py", WHOLE, LAZY)))

    assert (verdict.effect, verdict.code) == (Effect.DENY, "blocked")
    assert verdict.rule == "guardrail:omissions"
    assert "write out" in verdict.hint


def test_one_that_stood_there_before_may_stay():
    assert rails()(edit(change("a.py", LAZY, LAZY.replace("3", "4")))) is None


def test_it_can_be_a_warning_or_nothing():
    subject = edit(change("a.py", WHOLE, LAZY))

    assert rails(omissions="warn")(subject) is None
    assert len(rails(omissions="warn").warnings(subject)) == 1
    assert rails(omissions="off")(subject) is None
    assert rails(omissions="off").warnings(subject) == []
    assert rails(enabled=False)(subject) is None


def test_it_is_found_in_a_heredoc():
    assert denied(rails(), command(f"cat > a.py <<'EOF'\n{LAZY}EOF"))
    assert rails()(command("echo '# rest of code unchanged'")) is None


def test_undo_may_bring_back_what_was_there():
    assert rails()(edit(change("a.py", WHOLE, LAZY), tool="undo")) is None
    assert RULES(edit(change("a.py", "x", "eval(x)"), tool="undo")) is None
