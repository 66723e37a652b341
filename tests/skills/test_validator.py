"""Our reading of the agentskills rules agrees with the public validator."""

import string

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from skills_ref import validator

from handrail.skills.manifest import InvalidSkill, parse_manifest

ASCII = string.ascii_letters + string.digits + "-_ "
FIELDS = ("name", "description", "license", "compatibility", "metadata")
TEXTS = st.one_of(
    st.text(ASCII, max_size=70),
    st.sampled_from(["greet", "my-skill", "-a", "a--b", "A", "a" * 64, "a" * 65, "x" * 1025]),
)


def ours(values, folder):
    lines = [f"{key}: {value!r}" for key, value in values.items()]
    try:
        parse_manifest("\n".join(["---", *lines, "---", "body"]), folder)
    except InvalidSkill:
        return False
    return True


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    values=st.dictionaries(st.sampled_from([*FIELDS, "unknown"]), TEXTS, max_size=5),
    same=st.booleans(),
)
def test_a_skill_is_valid_for_both_or_for_neither(tmp_path_factory, values, same):
    folder = str(values.get("name", "greet")).strip() if same else "greet"
    values.pop("metadata", None)
    path = tmp_path_factory.getbasetemp() / (folder.replace("/", "") or "x")

    assert ours(values, path.name) == (not validator.validate_metadata(values, path))
