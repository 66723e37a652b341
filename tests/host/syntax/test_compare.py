from handrail.host.syntax.check import new_faults
from handrail.host.syntax.source import SourceText


def source(text):
    return SourceText(text.encode(), text)


def at(where, line, message="bad"):
    return where.fault(line, 1, message)


def test_one_old_error_explains_one_error():
    before, after = source("a\nx\nb\n"), source("a\nx\nx\nx\nb\n")

    fresh = new_faults([at(before, 2)], before, [at(after, 2), at(after, 3), at(after, 4)], after)

    assert fresh == [at(after, 3), at(after, 4)]


def test_numbers_in_a_message_do_not_make_it_another():
    before, after = source("a\nx\nb\n"), source("new\nanother\nx\nlast\n")

    fresh = new_faults(
        [at(before, 2, "since line 1")], before, [at(after, 3, "since line 2")], after
    )

    assert fresh == []


def test_an_error_in_lines_that_stood_there_before_is_not_new():
    before, after = source("p (\nq\na\nb\nc\n"), source("p ()\nq\na\nb\nc\n")

    assert new_faults([at(before, 1)], before, [at(after, 4, "other")], after) == []
    assert new_faults([at(before, 1)], before, [at(after, 1, "other")], after) == [
        at(after, 1, "other")
    ]


def test_without_old_errors_all_are_new():
    before, after = source("a\nb\n"), source("a\nb\n")

    assert new_faults([], before, [at(after, 2)], after) == [at(after, 2)]
