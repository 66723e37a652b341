from handrail.host.sandbox.probe import measure


def test_what_was_measured_is_found_again_and_only_under_its_key(tmp_path):
    measure.save_result(tmp_path / "state", "one", {"tcp": "enforced"})
    measure.save_result(tmp_path / "state", "two", {"tcp": "absent"})

    assert measure.load_result(tmp_path / "state", "one") == {"tcp": "enforced"}
    assert measure.load_result(tmp_path / "state", "two") == {"tcp": "absent"}
    assert measure.load_result(tmp_path / "state", "three") is None


def test_a_broken_file_is_no_answer_and_is_written_anew(tmp_path):
    for nonsense in ("{", "[]", '{"one": 1}'):
        (tmp_path / "sandbox.json").write_text(nonsense)
        assert measure.load_result(tmp_path, "one") is None

    measure.save_result(tmp_path, "one", {"tcp": "enforced"})

    assert measure.load_result(tmp_path, "one") == {"tcp": "enforced"}
    assert [path.name for path in tmp_path.iterdir()] == ["sandbox.json"]


def test_a_directory_of_strangers_is_not_believed(tmp_path):
    measure.save_result(tmp_path / "state", "one", {"tcp": "enforced"})
    (tmp_path / "state").chmod(0o777)

    assert measure.load_result(tmp_path / "state", "one") is None


def test_without_a_directory_nothing_is_kept():
    measure.save_result(None, "one", {"tcp": "enforced"})

    assert measure.load_result(None, "one") is None


def test_a_directory_that_cannot_be_made_is_no_trouble(tmp_path):
    (tmp_path / "file").write_text("x")

    measure.save_result(tmp_path / "file" / "state", "one", {})

    assert measure.load_result(tmp_path / "file" / "state", "one") is None


def test_old_answers_are_forgotten(tmp_path):
    for number in range(40):
        measure.save_result(tmp_path, str(number), {})

    assert measure.load_result(tmp_path, "0") is None
    assert measure.load_result(tmp_path, "39") == {}


def test_the_key_tells_users_and_confiners_apart(monkeypatch):
    here = measure.cache_key("bubblewrap")

    assert measure.cache_key("bubblewrap") == here
    assert measure.cache_key("landlock") != here
    monkeypatch.setattr(measure.os, "geteuid", lambda: 4242)
    assert measure.cache_key("bubblewrap") != here
