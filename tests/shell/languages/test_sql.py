"""Statements of SQL without what they only mention."""

from handrail.shell.languages.sql import without_literals


def test_literals_and_comments_are_left_out():
    assert without_literals("select 'drop table x'; -- drop\ndrop y") == "select ''; ''\ndrop y"
    assert without_literals("select $a$ drop $a$") == "select ''"
    assert without_literals("select $a$ drop") == "select $a$ drop"
    assert without_literals("/* drop") == "''"
