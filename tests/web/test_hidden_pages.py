"""Text is left out of a page if and only if a browser does not show it."""

import pytest
from tests.web.hidden_pages import CASES, SHOWN

from handrail.web.html_worker import convert_page


@pytest.mark.threat("A53")
@pytest.mark.parametrize("name", CASES)
def test_text_is_shown_as_a_browser_shows_it(name):
    page = convert_page(CASES[name], "https://example.org/")

    assert ("SECRET" in page["text"]) is (name in SHOWN)
    assert (page["hidden"] == 0) is (name in SHOWN)


def test_the_answers_are_of_these_pages():
    assert set(CASES) > SHOWN
