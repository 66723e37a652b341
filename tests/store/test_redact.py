"""Tokens are known by their shape; everything else stays as it is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.store.chain.encoding import may_hold_secrets, redact

A40 = "Aa1" * 14
# Put together here, so that no scanner takes this file for a leak.
SECRETS = [
    "sk-" + A40,
    "sk-ant-api03-" + A40,
    "sk-proj-" + A40,
    "ghp_" + A40,
    "github_pat_" + A40,
    "glpat-" + A40[:20],
    "AKIA" + "ABCDEFGH12345678",
    "xoxb-" + "123456789012-abcdef",
    "AIza" + A40[:35],
    "eyJ" + A40 + ".eyJ" + A40 + "." + A40,
    "npm_" + A40,
    "hf_" + A40,
    "https://user:hunter22@host/x",
    "Authorization: Bearer " + A40,
    "DB_PASSWORD=correct-horse",
    "export API_KEY='abcdef123456'",
    'TOKEN="abcdef123456"',
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow"
    + A40
    + "\n"
    + A40
    + "\n-----END RSA PRIVATE KEY-----",
]
# What may stand right before a secret: in JSON some of it ends with a letter.
BEFORE = ["\n", "\t", "\r\n", "\x1b[32m", "\x1b[m", "\x00", '"', "=", "(", "\\", "ü", ""]
HARMLESS = [
    "task-force-one-two-three-four-five-six",
    "risk-based-approach-to-everything-there-is",
    "the ghosts of highways",
    "https://host:8080/path@2",
    "def token(self): return self.TOKEN",
    "PASSWORD = input('password')",
    "KEY=$(cat file)",
    "a basic understanding of it",
    "TOKEN=<yours>",
    "sk-learn",
]


def stored(text):
    return json.dumps({"text": text}).encode()


@pytest.mark.parametrize("before", BEFORE, ids=ascii)
def test_a_secret_is_known_wherever_it_begins(before):
    texts = [f"x{before}{secret}" if before else secret for secret in SECRETS]

    kept = [text for text in texts if "[redacted]" not in redact(stored(text)).decode()]

    assert kept == []


@pytest.mark.parametrize("secret", SECRETS, ids=lambda one: one[:12])
def test_what_looks_like_a_secret_is_taken_out(secret):
    said = json.loads(redact(stored(f"before {secret} after")))["text"]

    assert "[redacted]" in said
    assert said.startswith("before ")
    assert said.endswith(" after")
    for part in (A40, "hunter22", "correct-horse", "abcdef123456", "ABCDEFGH12345678"):
        assert part not in said


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_stays_as_it_is(text):
    assert redact(stored(text)) == stored(text)


@given(st.text(max_size=200), st.sampled_from(SECRETS), st.text(max_size=200))
def test_what_is_left_is_json_and_still_has_the_rest(before, secret, after):
    said = json.loads(redact(stored(f"{before} {secret} {after}")))["text"]

    assert "[redacted]" in said
    assert redact(stored(said)) == stored(said)


def test_a_long_text_without_an_end_is_bounded():
    text = stored("-----BEGIN PRIVATE KEY-----" * 2000 + "eyJ" * 20000 + "://" * 20000)

    assert json.loads(redact(text))


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("before", BEFORE)
def test_one_look_at_many_texts_misses_none_of_their_secrets(secret, before):
    bodies = [json.dumps({"text": text}).encode() for text in ("a", f"{before}{secret}", "b")]

    assert redact(bodies[1]) == bodies[1] or may_hold_secrets(bodies)
    assert not may_hold_secrets([bodies[0], bodies[2]])
