"""A number means the same whether it came as a number or as text, in every vocabulary."""

import pytest

from handrail.dialects.known import DIALECTS, find_vocabulary
from handrail.dialects.spellings import SPELLINGS

NUMBERS = (0, 1, 2, 500, 1500.5)


def changes(arg, number):
    """Whether an argument means something else than the number that is written."""
    meant = arg.read_value(number)
    return type(meant) is not type(number) or meant != number


CONVERTED = [
    pytest.param(arg, number, id=f"{dialect.name}-{view.name}-{arg.name}-{number}")
    for dialect in (*(find_vocabulary(name).dialect for name in DIALECTS), SPELLINGS)
    for view in dialect.views
    for arg in view.args
    for number in NUMBERS
    if arg.read is not None and changes(arg, number)
]


@pytest.mark.feature("C21")
@pytest.mark.parametrize(("arg", "number"), CONVERTED)
def test_a_number_as_text_is_converted_like_the_number(arg, number):
    assert arg.read_value(f" {number} ") == arg.read_value(number)
