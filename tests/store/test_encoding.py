"""How rows are encoded and hashed. A byte that changes here breaks every store there is."""

import hashlib
import json

import pytest

from handrail.store.chain.encoding import (
    encode_info,
    encode_json,
    encode_row,
    encode_row_or_error,
    ledger_hash,
    line_hash,
    payload_hash,
    row_hash,
    seal_row,
    storable,
    storable_name,
)


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_hash_of_a_row_covers_every_column_with_its_length():
    expected = sha256("row,2:sä,3,6:intent,2:c1,4,5,pp,qq")

    assert row_hash("sä", 3, "intent", "c1", 4, 5, "pp", "qq") == expected


def test_the_hash_of_a_line_covers_every_column_with_its_length():
    assert ledger_hash(1, "s", "open", 2, 3, "hh", "{}", "pp") == sha256(
        "ledger,1,1:s,4:open,2,3,hh,2:{},pp"
    )
    assert line_hash(1, "s", "open", 2, 3, "hh", "{}", 4, "own", "pp") == sha256(
        "line,1,1:s,4:open,2,3,hh,2:{},4,3:own,pp"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": 1, "b": [True, None, 0.5]}, '{"a":1,"b":[true,null,0.5]}'),
        ({"a": "ä"}, '{"a":"ä"}'),
        ({"a": "\ud800"}, '{"a":"\\ud800"}'),
        ({"a": b"\xff"}, '{"a":"b\'\\\\xff\'"}'),
        (
            {
                "a": {
                    1,
                }
            },
            '{"a":[1]}',
        ),
    ],
)
def test_a_payload_is_compact_json(value, text):
    assert encode_json(value) == text.encode()


def test_the_information_of_a_line_is_compact_ascii():
    assert encode_info({"a": "ä", "b": 1}) == '{"a":"\\u00e4","b":1}'


def circle():
    found = {}
    found["self"] = found
    return found


class Silent(Exception):
    def __str__(self):
        raise RuntimeError


class Unspeakable:
    def __repr__(self):
        raise Silent


def test_what_has_no_json_form_is_recorded_as_the_reason():
    row = ("s", "intent", "c", 1, 2, circle())

    with pytest.raises((ValueError, RecursionError)):
        encode_row(row)
    *columns, body = encode_row_or_error(row)
    assert columns == ["s", "intent", "c", 1, 2]
    assert list(json.loads(body)) == ["unencodable"]


def test_an_error_that_cannot_say_what_it_is_is_recorded_by_its_name():
    *_, body = encode_row_or_error(("s", "intent", "c", 1, 2, {"a": Unspeakable()}))

    assert json.loads(body)["unencodable"].split(":")[0] in ("Silent", "PydanticSerializationError")


@pytest.mark.parametrize(
    ("text", "stored"),
    [("a", "a"), ("ä", "ä"), ("a\0b", "a\\x00b"), ("\ud800", "\\ud800"), ("ä\0", "ä\\x00")],
)
def test_text_that_a_database_refuses_is_spelled_out(text, stored):
    assert storable(text) == stored


@pytest.mark.parametrize(
    ("name", "whole"),
    [("a" * 1000, True), ("a" * 1001, False), ("ä" * 500, True), ("ä" * 501, False)],
)
def test_a_name_that_is_too_long_ends_in_its_hash(name, whole):
    stored = storable_name(name)

    beginning = name.encode()[:900].decode("utf-8", "ignore")
    assert stored == (name if whole else f"{beginning}...{sha256(name)}")


def sealed(kind, payload, *, clean=False, session="s", call="c"):
    return seal_row((session, kind, call, 1, 2, encode_json(payload)), clean=clean)


TOKEN = "ghp_" + "a1B2" * 9


def test_a_sealed_row_has_the_hash_of_what_is_stored():
    row = sealed("completed", {"text": "x"})

    assert row == ("s", "completed", "c", 1, 2, payload_hash(b'{"text":"x"}'), '{"text":"x"}')


def test_a_token_is_stored_nowhere_but_where_undo_needs_it():
    assert TOKEN not in sealed("completed", {"data": TOKEN})[6]
    assert TOKEN in sealed("completed", {"data": TOKEN}, clean=True)[6]
    assert TOKEN in sealed("intent", {"path": TOKEN})[6]
    assert TOKEN not in sealed("intent", {"text": TOKEN})[6]
    both = json.loads(sealed("intent", {"path": TOKEN, "text": f"see {TOKEN}"})[6])
    assert both["path"] == TOKEN
    assert TOKEN not in both["text"]


@pytest.mark.parametrize("name", ["ä\ud800", "a\0", "a" * 1200])
def test_the_names_of_a_row_can_be_stored(name):
    row = sealed("completed", {}, session=name, call=name)

    assert (row[0], row[2]) == (storable_name(name), storable_name(name))
