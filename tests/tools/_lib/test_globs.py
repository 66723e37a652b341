import pytest

from handrail.tools._lib.globs import name_matcher


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "a.pyc", False),
        ("a?c", "abc", True),
        ("[ab]*", "bx", True),
        ("[!ab]*", "bx", False),
        ("*.{js,ts}", "a.ts", True),
        ("*.{js,t{s,sx}}", "a.tsx", True),
        ("{a,b}{1,2}", "b2", True),
        ("*", ".hidden", True),
        ("a.c", "abc", False),
        ("{open", "{open", True),
    ],
)
def test_a_name_is_compared_with_a_glob(pattern, name, fits):
    assert bool(name_matcher(pattern)(name)) is fits


def test_braces_that_multiply_without_end_do_not_take_forever():
    assert not name_matcher("{a,b}" * 40)("c")
