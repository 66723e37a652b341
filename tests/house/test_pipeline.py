"""The way of a call is two short functions, and the values on it are small."""

import ast
from pathlib import Path

import pytest

ENGINE = Path(__file__).parents[2] / "src" / "handrail" / "engine"
MAX_STATEMENTS = 25
MAX_FIELDS = 7
# Calls in source order: `run` first, then `_check_and_execute`.
EXPECTED = {
    "run": [
        "self.recorder.begin",
        "self.recorder.record",
        "self._check_and_execute",
        "self.failures.translate",
        "self.planner.apply_modifiers",
        "state.prepared.principal.policy.count_for_loop_guard",
        "self.hooks.after",
    ],
    "_check_and_execute": [
        "self.recorder.write_requested",
        "state.prepared.principal.policy.precheck",
        "self.hooks.before",
        "self.planner.preflight",
        "range",
        "self.planner.plan",
        "state.prepared.principal.policy.clear",
        "self.planner.describe_or_queue",
        "self.locks.hold",
        "self.executors[state.prepared.scope.kind].execute",
        "messages.FILES_KEEP_CHANGING.error",
    ],
}
# Public: what hooks are given, and a tool, which sets the attributes that every tool has.
PUBLIC = {"hooking/callbacks.py: HookCall", "function_tool.py: FunctionTool"}
# Where the principal of a call is chosen.
CHOOSES_PRINCIPAL = "prepare/preparer.py"


def pipeline_functions():
    tree = ast.parse((ENGINE / "pipeline.py").read_text())
    [pipeline] = [one for one in tree.body if isinstance(one, ast.ClassDef)]
    return {one.name: one for one in pipeline.body if isinstance(one, ast.AsyncFunctionDef)}


def statements(function):
    """The statements of a function, its docstring left out."""
    body = [one for one in ast.walk(function) if isinstance(one, ast.stmt) and one is not function]
    return [
        one
        for one in body
        if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
    ]


def calls(function):
    """The calls of a function, as written, in source order."""
    found = [one for one in ast.walk(function) if isinstance(one, ast.Call)]
    found.sort(key=lambda one: (one.lineno, one.col_offset))
    return [ast.unparse(one.func) for one in found]


@pytest.mark.parametrize("name", EXPECTED)
def test_the_steps_of_a_call_come_in_this_order(name):
    assert calls(pipeline_functions()[name]) == EXPECTED[name]


def test_both_functions_fit_on_one_screen():
    functions = pipeline_functions()

    assert set(functions) == set(EXPECTED)
    assert sum(len(statements(one)) for one in functions.values()) <= MAX_STATEMENTS


def fields(node):
    """The fields of a class: annotated in its body, or assigned to `self` in `__init__`."""
    named = {
        one.target.id
        for one in node.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    }
    for function in node.body:
        if isinstance(function, ast.FunctionDef) and function.name == "__init__":
            named |= {
                one.attr
                for one in ast.walk(function)
                if isinstance(one, ast.Attribute)
                and isinstance(one.ctx, ast.Store)
                and isinstance(one.value, ast.Name)
                and one.value.id == "self"
            }
    return named


def test_no_class_of_the_engine_has_more_than_seven_fields():
    large = {
        f"{path.relative_to(ENGINE)}: {node.name}": len(fields(node))
        for path in ENGINE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and len(fields(node)) > MAX_FIELDS
    }

    assert set(large) <= PUBLIC, large


def test_who_makes_a_call_is_asked_only_where_the_principal_is_chosen():
    asking = {
        str(path.relative_to(ENGINE))
        for path in ENGINE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ("by_person", "initiated_by_user")
    }

    assert asking <= {CHOOSES_PRINCIPAL}
