from handrail.cli.workspace import new_call_id


def test_ids_are_short_and_differ():
    ids = [new_call_id() for _ in range(3)]

    assert all(len(one) == 10 and one.isalnum() for one in ids)
    assert sorted(ids, key=lambda one: one[:8]) == ids
