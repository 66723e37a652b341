"""Links as file systems of fsspec describe them."""

import pytest

from handrail.scale.sources.fsspec_files import _link_target


@pytest.mark.parametrize(
    ("target", "name"),
    [(b"a/b", "a/b"), ("a/b", "a/b"), (b"\xff", "\udcff"), (b"", "")],
)
def test_the_target_of_a_link_is_a_name(target, name):
    assert _link_target(target) == name
