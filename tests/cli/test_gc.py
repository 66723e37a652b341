import os
import time


def test_what_is_young_stays(handrail):
    handrail("call", "read_file", "path=a.txt")

    assert handrail("gc").out == "nothing is older than 30 days\n"
    assert handrail("log", "--json").lines[0]["requested"]["arguments"] == {"path": "a.txt"}


def test_a_dry_run_counts_what_a_real_run_drops(handrail):
    handrail("call", "read_file", "path=a.txt")
    handrail("call", "read_file", "path=a.txt")

    planned = handrail("gc", "--older-than", "0", "--dry-run", "--json").json
    done = handrail("gc", "--older-than", "0", "--json").json
    again = handrail("gc", "--older-than", "0", "--json").json

    assert planned["payloads"] == done["payloads"] == 4
    assert planned["payload_bytes"] == done["payload_bytes"] > 0
    assert (planned["dry_run"], done["dry_run"], again["payloads"]) == (True, False, 0)


def test_the_record_still_holds_after_payloads_were_dropped(handrail):
    handrail("call", "read_file", "path=a.txt")

    done = handrail("gc", "--older-than", "0")

    assert done.code == 0
    assert done.out.startswith("dropped 2 payloads (")
    assert handrail("verify").code == 0
    assert handrail("log", "--json").lines[0]["requested"] == {"purged": True}


def test_the_age_comes_from_the_settings_unless_it_is_given(handrail, own_home):
    file = own_home / "config" / "handrail" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("keep_days = 7\n")

    assert handrail("gc").out == "nothing is older than 7 days\n"
    assert handrail("gc", "--older-than", "2.5").out == "nothing is older than 2.5 days\n"


def test_old_texts_of_long_results_are_dropped(handrail, workspace, own_home):
    (workspace / "big.txt").write_text("some words\n" * 1000)
    (workspace / "short.toml").write_text("max_chars = 500\n")
    handrail("--config", "short.toml", "call", "read_file", "path=big.txt")
    kept = [path for path in own_home.rglob("oversized/*") if path.is_file()]
    assert len(kept) == 1
    past = time.time() - 40 * 86_400
    os.utime(kept[0], (past, past))
    size = kept[0].stat().st_size

    planned = handrail("gc", "--dry-run", "--json").json
    assert kept[0].exists()
    done = handrail("gc", "--json").json

    assert (planned["texts"], planned["text_bytes"]) == (done["texts"], done["text_bytes"])
    assert (done["texts"], done["text_bytes"], done["payloads"]) == (1, size, 0)
    assert not kept[0].exists()


def test_nothing_on_record_is_not_an_error(handrail):
    assert handrail("gc", "--older-than", "0").code == 0


def test_a_store_becomes_smaller(handrail, workspace):
    (workspace / "big.txt").write_text("0123456789\n" * 2000)
    for _ in range(5):
        handrail("call", "read_file", "path=big.txt")

    done = handrail("gc", "--older-than", "0")

    assert "the store is " in done.out
    assert " smaller; its hashes still hold\n" in done.out
    assert handrail("verify").code == 0


def test_a_dry_run_counts_old_contents_too(handrail, workspace, own_home):
    for name, line in (("a.txt", "0123456789\n"), ("b.txt", "abcdefghij\n")):
        (workspace / name).write_text(line * 10_000)
        words = ("call", "write_file", f"path={name}", "content=new")
        assert handrail("--mode", "accept-edits", *words).code == 0
    blobs = [path for path in own_home.rglob("blobs/*") if path.is_file()]
    assert len(blobs) == 2

    young = handrail("gc", "--dry-run", "--json").json
    packed = handrail("gc", "--json").json
    planned = handrail("gc", "--older-than", "0", "--dry-run", "--json").json
    told = handrail("gc", "--older-than", "0", "--dry-run").out
    done = handrail("gc", "--older-than", "0", "--json").json

    assert young["content_bytes"] == packed["content_bytes"] > 200_000
    assert planned["content_bytes"] == done["content_bytes"] > 0
    assert "old contents would take " in told
    assert [path for path in own_home.rglob("blobs/*") if path.is_file()] == []
