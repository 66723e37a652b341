"""Words that prove to a service who is asking."""

import pytest
from tests.support.commands import understood

from handrail.shell.analyze.proofs import is_token, proving_words


@pytest.mark.parametrize(
    ("header", "proves"),
    [
        ("Authorization: Bearer x", True),
        ("X-Api-Key: x", True),
        ("Private-Token: x", True),
        ("X-T: x", False),
        ("Content-Type: x", False),
    ],
)
def test_a_header_that_proves_who_asks(header, proves):
    _, flat = understood(f"curl -H '{header}' https://x.example")

    assert bool(proving_words(flat.invocations[0])) is proves


def test_a_token_is_only_as_secret_as_itself():
    _, flat = understood('curl -H "X-Key: $(gh auth token)" -H "X-Key: $(cat x)" y')

    curl = next(one for one in flat.invocations if one.program == "curl")
    assert [is_token(word) for word in proving_words(curl)] == [True, False]
