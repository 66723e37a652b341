"""Every answer of the operating system becomes a sentence with a code."""

import errno
import os

import pytest

from handrail.core.problems import CODES
from handrail.host.files.errors import problem_from_oserror, quoted


@pytest.mark.parametrize("code", sorted(errno.errorcode))
def test_every_error_is_told_with_the_path(code):
    problem = problem_from_oserror(OSError(code, os.strerror(code)), "src/a.py").problem

    assert problem.code in CODES
    assert "'src/a.py'" in problem.message


def test_an_error_without_a_number_is_told_too():
    assert problem_from_oserror(OSError("odd"), "a").problem.code == "unavailable"


def test_too_many_open_files_may_be_tried_again():
    assert problem_from_oserror(OSError(errno.EMFILE, "x"), "a").problem.retryable


def test_a_long_path_is_cut_in_the_middle():
    assert quoted("short") == "'short'"
    assert len(quoted("x" * 5000)) < 210
