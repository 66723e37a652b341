from handrail.cli.workspace import fresh_id


def test_ids_are_short_and_differ():
    ids = [fresh_id() for _ in range(3)]

    assert all(len(one) == 10 and one.isalnum() for one in ids)
    assert sorted(ids, key=lambda one: one[:8]) == ids
