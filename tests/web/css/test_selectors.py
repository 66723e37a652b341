"""Selectors of CSS: what they select in a small page, and how specific they are."""

import pytest

from handrail.web.css.selectors import PageElement, SelectorBudget, read_selectors
from handrail.web.css.syntax import read_css_tokens

STEPS = 1000


def element(tag, *names, root=False, **attributes):
    return PageElement(tag, frozenset(names), attributes.get, root)


HTML = element("html", root=True)
BODY = element("body", "#page", ".wide")
LIST = element("ul", ".list", ".wide")
ITEM = element("li", ".item", ".first", "#one", lang="en-GB", data="a b-c", empty="")
AROUND = [HTML, BODY, LIST]


def selects(css, budget=STEPS):
    found = read_selectors(read_css_tokens(css))
    return any(one.holds(ITEM, AROUND, SelectorBudget(budget)) for one in found)


@pytest.mark.parametrize(
    "css",
    [
        *("li", "LI", "*", ".item", ".item.first", "#one", "li#one.item", "li, p", "p, li"),
        *("ul li", "ul > li", "ul>li", "body li", "html > body > ul > li", "body > ul li"),
        *("body ul li", "html li", ".wide li", ".wide .wide li", "#page > .list > *"),
        *("[lang]", "[LANG]", "[lang=en-GB]", "[lang='en-GB']", '[lang="en-GB"]', "[lang|=en]"),
        *("[data~=a]", "[data~=b-c]", "[data^=a]", "[data$=c]", "[data*='b-']", "[empty]"),
        *(":not(p)", ":not(.other)", ":not(p, ul)", ":is(li)", ":is(p, li)", ":where(.item)"),
        *("li:not(.x):not(.y)", ":is(:not(p))", ":root li", "li:is(.item, .x)", "[empty='']"),
        *("html:root > body li", "li.\\66irst", "ul >li", "ul  li"),
    ],
)
def test_a_selector_that_selects(css):
    assert selects(css)


@pytest.mark.parametrize(
    "css",
    [
        *("p", ".Item", ".items", "#two", "li.x", "li#page", "ul", "html", ":root", "li:root"),
        *("p li", "body > li", "html > ul li", "li li", "ul ul li", "html > body > li"),
        *("[title]", "[lang=en]", "[lang|=GB]", "[lang|=e]", "[data~=c]", "[data~='a b-c']"),
        *("[data^=b]", "[data$=a]", "[data*=x]", "[data*='']", "[data^='']", "[data$='']"),
        *(":not(li)", ":not(p, li)", ":is(p)", ":is(p, ul)", "li:not(.item)", ":where(p)"),
        # Not followed, as they hold for no element at rest or need its neighbours.
        *("li:hover", "li::before", "li:first-child", "ul + li", "ul ~ li", "li:-moz-x"),
        *(":is(ul li)", ":not(:hover)"),
        # One that is invalid makes all of them invalid.
        *("li, ", "li, ..x", "li, :nonsense", "li, [", "li >", "> li", "ul > > li", "li, [1=2]"),
        *("", "li{", "li.", "li:", "[data@=a]", "[lang=1]", "li, ul > + li"),
    ],
)
def test_a_selector_that_does_not_select(css):
    assert not selects(css)


@pytest.mark.parametrize(
    ("css", "specificity"),
    [
        ("*", (0, 0, 0)),
        ("li", (0, 0, 1)),
        ("ul li", (0, 0, 2)),
        (".a", (0, 1, 0)),
        ("[a]", (0, 1, 0)),
        (":root", (0, 1, 0)),
        ("#a", (1, 0, 0)),
        ("ul > li.a#b[c]", (1, 2, 2)),
        (":not(#a)", (1, 0, 0)),
        (":is(.a, #b)", (1, 0, 0)),
        (":is(p, .a)", (0, 1, 0)),
        (":where(#a)", (0, 0, 0)),
        ("li:not(.a):is(p)", (0, 1, 2)),
    ],
)
def test_how_specific_a_selector_is(css, specificity):
    [found] = read_selectors(read_css_tokens(css))

    assert found.specificity == specificity


def test_pseudo_classes_are_nested_up_to_a_depth():
    assert selects(":is(" * 4 + "li" + ")" * 4)
    assert not selects(":is(" * 5 + "li" + ")" * 5)


def test_a_page_has_a_budget_of_comparisons():
    assert selects("html li", budget=3)
    assert not selects("html li", budget=2)
    assert selects("li", budget=0)


def test_an_outer_element_is_tried_if_what_is_around_the_nearer_one_does_not_fit():
    [found] = read_selectors(read_css_tokens("section > div p"))
    around = [element("section"), element("div"), element("div")]

    assert found.holds(element("p"), around, SelectorBudget(STEPS))
    assert not found.holds(element("p"), around[1:], SelectorBudget(STEPS))
