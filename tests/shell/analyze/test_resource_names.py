"""The names in a command that deletes something."""

from handrail.shell.analyze.resource_names import ResourceNames


def test_what_is_deleted_and_where_it_is():
    names = ResourceNames.among(["delete", "ns", "shop", "--context=prod-1"])

    assert names.things == ["shop"]
    assert names.places == ["prod-1"]
    assert names.in_use
    assert not names.are_trials
    assert ResourceNames.among(["delete", "ns", "shop-test"]).are_trials
    # A domain that stands for any domain is no trial by its name.
    assert not ResourceNames.among(["delete-zone", "example.com"]).are_trials
