import random

import pytest

import handrail
from handrail.core.problems import ProblemRaised


@pytest.mark.feature("E13")
async def test_text_that_occurs_once_is_replaced_and_the_diff_shown(workspace):
    workspace.write("src/a.py", "a\nb\nc\nd\ne\nf\n")

    plan = await workspace.change("edit_file", path="src/a.py", old_string="c", new_string="C")

    assert workspace.read("src/a.py") == b"a\nb\nC\nd\ne\nf\n"
    assert plan.text == (
        "src/a.py: 1 replacement at line 3\n"
        "--- a/src/a.py\n+++ b/src/a.py\n"
        "@@ -1,6 +1,6 @@\n a\n b\n-c\n+C\n d\n e\n f"
    )
    assert plan.preview == plan.text.split("\n", 1)[1]
    assert plan.data == {"path": "src/a.py", "replacements": 1, "line": 3, "tier": "exact"}


@pytest.mark.feature("E19")
@pytest.mark.parametrize(
    ("dialect", "names"),
    [
        ("canonical", ("edit_file", "apply_patch", "write_file")),
        ("architect", ("edit_file", "apply_patch", "write_file")),
    ],
)
async def test_the_order_of_preference_among_edits_is_taught(tmp_path, dialect, names):
    async with handrail.open(tmp_path, dialect=dialect, store=":memory:") as rt:
        tools = {tool["name"]: tool["description"] for tool in rt.declare("anthropic")}

    edit, patch, write = names
    lesson = f"Prefer this for small changes, then {patch}, and {write} for new files."
    assert lesson in tools[edit].splitlines()


@pytest.mark.parametrize(
    ("dialect", "name", "shown"),
    [
        (
            "canonical",
            "edit_file",
            ["path", "old_string", "new_string", "replace_all", "regex", "edits"],
        ),
        ("claude", "Edit", ["file_path", "old_string", "new_string", "replace_all"]),
        ("architect", "edit_file", ["path", "old_str", "new_str"]),
    ],
)
async def test_a_vocabulary_shows_the_arguments_it_knows(tmp_path, dialect, name, shown):
    async with handrail.open(tmp_path, dialect=dialect, store=":memory:") as rt:
        tools = {tool["name"]: tool["input_schema"] for tool in rt.declare("anthropic")}

    assert list(tools[name]["properties"]) == shown
    assert tools[name]["required"] == shown[:3]


async def test_nothing_is_written_by_planning(workspace):
    workspace.write("a", "x")

    await workspace.plan("edit_file", path="a", old_string="x", new_string="y")

    assert workspace.read("a") == b"x"


@pytest.mark.feature("E13")
async def test_text_that_occurs_twice_is_refused_with_its_lines(workspace):
    workspace.write("a", "x\nno\nx\n")

    problem = await workspace.problem("edit_file", path="a", old_string="x", new_string="y")

    assert problem.code == "ambiguous"
    assert "2 times" in problem.message
    assert "lines 1, 3" in problem.message
    assert "replace_all" in problem.hint


async def test_at_most_ten_lines_are_named_for_an_ambiguous_text(workspace):
    workspace.write("a", "x\n" * 40)

    problem = await workspace.problem("edit_file", path="a", old_string="x", new_string="y")

    assert "40 times" in problem.message
    assert problem.message.endswith("9, 10, …")


async def test_occurrences_that_overlap_are_ambiguous_too(workspace):
    workspace.write("a", "aaa")

    problem = await workspace.problem("edit_file", path="a", old_string="aa", new_string="b")

    assert problem.code == "ambiguous"


@pytest.mark.feature("E13")
async def test_text_that_is_not_there_is_answered_with_the_nearest_lines(workspace):
    workspace.write("a.py", "import os\n\ndef run(path):\n    return os.stat(path)\n")
    old = "def run(path):\n    return os.lstat(path)"

    problem = await workspace.problem("edit_file", path="a.py", old_string=old, new_string="x")

    assert problem.code == "no_match"
    assert "3\tdef run(path):" in problem.message


async def test_a_line_that_is_only_alike_is_found_as_nearest(workspace):
    workspace.write("a.py", "alpha = 1\nresult = compute(total)\n")

    problem = await workspace.problem(
        "edit_file", path="a.py", old_string="result = computed(totals)", new_string="x"
    )

    assert "     2\tresult = compute(total)" in problem.message


async def test_text_unlike_anything_in_the_file_is_simply_not_found(workspace):
    workspace.write("a.py", "alpha = 1\n")

    problem = await workspace.problem("edit_file", path="a.py", old_string="ZZZ?", new_string="x")

    assert (problem.code, "nearest" in problem.message) == ("no_match", False)


async def test_an_edit_that_was_made_before_is_recognised(workspace):
    workspace.write("a", "one\nthe new text\n")

    problem = await workspace.problem(
        "edit_file", path="a", old_string="the old text", new_string="the new text"
    )

    assert problem.code == "already_applied"
    assert "line 2" in problem.message


async def test_a_deletion_that_was_made_before_is_not_called_applied(workspace):
    workspace.write("a", "one\n")

    problem = await workspace.problem("edit_file", path="a", old_string="old", new_string="")

    assert problem.code == "no_match"


@pytest.mark.feature("E14")
async def test_every_occurrence_is_replaced_when_asked(workspace):
    workspace.write("a", "x1\nkeep\nx2 x3\n")

    plan = await workspace.change(
        "edit_file", path="a", old_string="x", new_string="yy", replace_all=True
    )

    assert workspace.read("a") == b"yy1\nkeep\nyy2 yy3\n"
    assert plan.data["replacements"] == 3
    assert plan.text.startswith("a: 3 replacements from")


async def test_thousands_of_occurrences_are_replaced(workspace):
    workspace.write("a", "ab\n" * 5000)

    plan = await workspace.change(
        "edit_file", path="a", old_string="b\na", new_string="-", replace_all=True
    )

    assert workspace.read("a") == b"a" + b"-" * 4999 + b"b\n"
    assert plan.data["replacements"] == 4999
    assert len(plan.text) < 30_000


@pytest.mark.feature("E15")
async def test_text_that_would_stay_the_same_is_refused(workspace):
    workspace.write("a", "x")

    problem = await workspace.problem("edit_file", path="a", old_string="x", new_string="x")

    assert (problem.code, problem.field) == ("invalid_arguments", "new_string")


@pytest.mark.feature("E15")
@pytest.mark.parametrize("new", ["$&", r"\1\g<0>", "$`$'$1", "%s{0}", "\\", "\\n"])
async def test_the_replacement_is_taken_literally(workspace, new):
    workspace.write("a", "a X b")

    await workspace.change("edit_file", path="a", old_string="X", new_string=new)

    assert workspace.read("a") == b"a " + new.encode() + b" b"


async def test_the_old_text_is_no_pattern(workspace):
    workspace.write("a", "abc a.c")

    await workspace.change("edit_file", path="a", old_string="a.c", new_string="-")

    assert workspace.read("a") == b"abc -"


async def test_an_empty_old_text_creates_a_file(workspace):
    plan = await workspace.change("edit_file", path="new/a", old_string="", new_string="hi\n")

    assert workspace.read("new/a") == b"hi\n"
    assert plan.text == "created new/a (1 line, 3 bytes)"


@pytest.mark.parametrize("content", ["", "text"])
async def test_an_empty_old_text_is_refused_for_a_file_that_exists(workspace, content):
    workspace.write("a", content)

    problem = await workspace.problem("edit_file", path="a", old_string="", new_string="hi")

    assert problem.code == "exists"
    assert workspace.read("a") == content.encode()


async def test_a_missing_file_names_its_closest_relatives(workspace):
    workspace.write("config.toml", "x")

    problem = await workspace.problem(
        "edit_file", path="confg.toml", old_string="x", new_string="y"
    )

    assert problem.code == "not_found"
    assert "config.toml" in str(problem)


async def test_a_directory_is_refused(workspace):
    (workspace.root / "d").mkdir()

    problem = await workspace.problem("edit_file", path="d", old_string="x", new_string="y")

    assert problem.code == "not_text"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        # The lines that are replaced keep their endings, new ones take the last of them.
        (b"a\r\nb\r\nc\r\n", "a\nb", "A\nB", b"A\r\nB\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "b\n", "b\nx\ny\n", b"a\r\nb\r\nx\r\ny\r\nc\r\n"),
        (b"a\r\nb\nc\r\nd", "a\nb\nc", "1\n2\n3\n4", b"1\r\n2\n3\r\n4\r\nd"),
        (b"a\r\nb\nc\r\nd", "b\nc\nd", "2\n3\n4", b"a\r\n2\n3\r\n4"),
        # Without a line ending in the match, the line around it decides.
        (b"a\r\nfoo\r\n", "foo", "x\ny", b"a\r\nx\r\ny\r\n"),
        (b"a\r\nfoo", "foo", "x\ny", b"a\r\nx\r\ny"),
        (b"a\nfoo\r\n", "a", "x\ny", b"x\ny\nfoo\r\n"),
        (b"foo", "foo", "x\ny", b"x\ny"),
        # A line ending is matched as a whole, never its second half.
        (b"a\r\nfoo\r\n", "\nfoo", "\nbar", b"a\r\nbar\r\n"),
        (b"a\r\n\r\nb\r\n", "\n\n", "\n", b"a\r\nb\r\n"),
        # A carriage return elsewhere in the file changes nothing.
        (b"a\rb\nfoo\nbar\n", "foo\nbar", "1\n2", b"a\rb\n1\n2\n"),
        (b"one\rtwo\rthree\r", "two", "2\n2b", b"one\r2\r2b\rthree\r"),
        (b"one\rtwo\rthree\r", "one\ntwo", "1\n2", b"1\r2\rthree\r"),
        # Endings that are all that changes are meant.
        (b"a\r\nb\r\n", "a\r\nb", "a\nb", b"a\nb\r\n"),
        # Others are what the caller's keyboard makes of them.
        (b"a\nb\n", "b", "b\r\nc", b"a\nb\nc\n"),
        (b"a\r\nb\r\n", "a\r\nb", "a\nc\nb", b"a\r\nc\r\nb\r\n"),
        (b"a\nb\n", "a\r\nb", "x\ny", b"x\ny\n"),
        # A missing final newline stays missing.
        (b"a\nb", "b", "c", b"a\nc"),
        (b"a\nb\n", "b\n", "c", b"a\nc"),
    ],
)
async def test_line_endings_stay_what_they_were(workspace, before, old, new, after):
    workspace.write("a", before)

    await workspace.change("edit_file", path="a", old_string=old, new_string=new)

    assert workspace.read("a") == after


async def test_regions_that_differ_only_in_line_endings_are_ambiguous(workspace):
    workspace.write("a", b"x\ny\n---\nx\r\ny\r\n")

    problem = await workspace.problem("edit_file", path="a", old_string="x\ny", new_string="z")

    assert problem.code == "ambiguous"
    assert "lines 1, 4" in problem.message


async def test_an_edit_of_endings_that_are_there_already_is_recognised(workspace):
    workspace.write("a", b"x\r\ny\r\n")

    problem = await workspace.problem("edit_file", path="a", old_string="x\ny", new_string="x\r\ny")

    assert problem.code == "already_applied"


@pytest.mark.parametrize(
    ("encoding", "old", "new"),
    [
        ("latin-1", "naïve", "Löwe"),
        ("utf-8-sig", "naïve", "Löwe 漢"),
        ("utf-16", "naïve", "Löwe 漢"),
        ("utf-16-le", "naïve", "Löwe"),
        ("utf-16-be", "naïve", "Löwe"),
    ],
)
async def test_the_file_keeps_its_encoding(workspace, encoding, old, new):
    text = "Ein naïver Text\r\nmit zwei Zeilen und mehr davon\r\n"
    workspace.write("a", text.encode(encoding))

    await workspace.change("edit_file", path="a", old_string=old, new_string=new)

    assert workspace.read("a") == text.replace(old, new).encode(encoding)


async def test_utf16_is_matched_between_characters_only(workspace):
    # In bytes, the letters "Ā" stand across every pair of "\u0100\u0100"-like neighbours too.
    before = "x\u0001\u0100\u0100y\u0100\n".encode("utf-16-le")
    data = b"\xff\xfe" + before
    workspace.write("a", data)

    problem = await workspace.problem("edit_file", path="a", old_string="Ā", new_string="b")

    assert "3 times" in problem.message


async def test_a_character_that_the_encoding_cannot_hold_is_refused(workspace):
    data = "naïve text\n".encode("latin-1")
    workspace.write("a", data)

    problem = await workspace.problem("edit_file", path="a", old_string="text", new_string="漢字")

    assert problem.code == "not_text"
    assert workspace.read("a") == data


async def test_a_character_that_the_encoding_cannot_hold_is_not_in_the_file(workspace):
    workspace.write("a", "naïve text\n".encode("latin-1"))

    problem = await workspace.problem("edit_file", path="a", old_string="漢字", new_string="text")

    assert problem.code == "no_match"


async def test_a_binary_file_is_edited_byte_for_byte(workspace):
    workspace.write("a", b"\x00\xff\xfehead\x00name=old\x00\x80tail\x00\x00\x01")

    await workspace.change("edit_file", path="a", old_string="name=old", new_string="name=new")

    assert workspace.read("a") == b"\x00\xff\xfehead\x00name=new\x00\x80tail\x00\x00\x01"


async def test_a_symlink_stays_a_symlink(workspace):
    workspace.write("real", "x")
    link = workspace.root / "link"
    link.symlink_to("real")

    await workspace.change("edit_file", path="link", old_string="x", new_string="y")

    assert link.is_symlink()
    assert workspace.read("real") == b"y"


async def test_permission_bits_are_kept(workspace):
    target = workspace.write("run.sh", "echo x\n")
    target.chmod(0o751)

    await workspace.change("edit_file", path="run.sh", old_string="x", new_string="y")

    assert target.stat().st_mode & 0o777 == 0o751


async def test_a_change_in_one_endless_line_is_shown_by_its_surroundings(workspace):
    workspace.write("a.js", "é" * 40_000 + "needle" + "z" * 40_000)

    plan = await workspace.change("edit_file", path="a.js", old_string="needle", new_string="pin")

    assert workspace.read("a.js") == ("é" * 40_000 + "pin" + "z" * 40_000).encode()
    assert len(plan.text) < 2_000
    assert "épinz" in plan.text


async def test_an_edit_shares_the_bytes_that_stay(workspace):
    workspace.write("a", "x" * 100_000 + "needle" + "y" * 100_000)

    plan = await workspace.plan("edit_file", path="a", old_string="needle", new_string="pin")

    change = plan.changes[0]
    head, new, tail = change.after.parts
    whole = change.before.parts[0]
    assert (head.obj is whole, bytes(new), tail.obj is whole) == (True, b"pin", True)


async def test_a_large_file_is_edited_in_place(workspace):
    lines = [b"line %d" % n for n in range(200_000)]
    workspace.write("big", b"\r\n".join(lines))

    plan = await workspace.change(
        "edit_file", path="big", old_string="line 150000\nline 150001", new_string="a\nb\nc"
    )

    lines[150_000:150_002] = [b"a", b"b", b"c"]
    assert workspace.read("big") == b"\r\n".join(lines)
    assert plan.data["line"] == 150_001
    assert "@@ -149998,8 +149998,9 @@" in plan.text


def odd_file(rng):
    """Bytes with one ASCII word in them, and the word."""
    word = "".join(rng.choices("abcdefghij", k=8))
    alphabets = {
        "utf-8": "aé漢🎉 \t",
        "utf-8-sig": "aé漢 ",
        "utf-16": "aé漢🎉 ",
        "utf-16-le": "abcde é",
        "utf-16-be": "abcde é",
        "latin-1": "aéÿ\xa0 ",
        "cp1252": "a€œ ",
        "gbk": "a漢字中文 ",
        "shift_jis": "aカタ表ソ ",
        "koi8-r": "aдлинный ",
    }
    encoding = rng.choice(list(alphabets))
    endings = rng.choice([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"], ["\n", "\r\n", "\r"], [""]])
    lines = ["".join(rng.choices(alphabets[encoding], k=rng.randrange(30))) for _ in range(12)]
    at = rng.randrange(12)
    lines[at] += " " + word
    text = "".join(line + rng.choice(endings) for line in lines)
    data = text.encode(encoding)
    if rng.random() < 0.15 and "16" not in encoding:
        data += rng.randbytes(20)
    return data, word, encoding if "16" in encoding else "ascii"


@pytest.mark.feature("E15")
async def test_an_ascii_word_in_odd_files_is_edited_and_no_other_byte_changes(workspace):
    rng = random.Random(7)
    refused = 0
    for number in range(500):
        data, word, encoding = odd_file(rng)
        codec = {"utf-16": "utf-16-le"}.get(encoding, encoding)
        name = f"f{number}"
        workspace.write(name, data)
        expected = data.replace(word.encode(codec), "Edited-Word".encode(codec))
        try:
            await workspace.change(
                "edit_file", path=name, old_string=word, new_string="Edited-Word"
            )
        except ProblemRaised as error:
            assert error.problem.code in ("no_match", "not_text"), error
            assert workspace.read(name) == data
            refused += 1
        else:
            assert workspace.read(name) == expected, (data, word)
    assert refused <= 25


MARK = "\ufeff"
MARKED = {
    "in the new text alone": ({"old_string": "a = 1", "new_string": f"{MARK}a = 3"}, "a = 3"),
    "in the new text alone, blanks ignored": (
        {"old_string": "a = 1 \n", "new_string": f"{MARK}a = 3\n"},
        "a = 3",
    ),
    "in both": ({"old_string": f"{MARK}a = 1", "new_string": f"{MARK}a = 3"}, "a = 3"),
    "in the old text alone": ({"old_string": f"{MARK}a = 1", "new_string": "a = 3"}, "a = 3"),
    "in the old text, everywhere": (
        {"old_string": f"{MARK}a", "new_string": "c", "replace_all": True},
        "c = 1",
    ),
    "in the new text, everywhere": (
        {"old_string": "a", "new_string": f"{MARK}c", "replace_all": True},
        "c = 1",
    ),
    "in the new text of a pattern": (
        {"old_string": "^a", "new_string": f"{MARK}c", "regex": True},
        "c = 1",
    ),
}


@pytest.mark.feature("E17")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
@pytest.mark.parametrize("where", MARKED)
async def test_a_byte_order_mark_stays_as_it_is(workspace, where, encoding):
    call, first = MARKED[where]
    workspace.write("m.txt", f"{MARK}a = 1\nb = 2\n".encode(encoding))

    await workspace.change("edit_file", path="m.txt", **call)

    assert workspace.read("m.txt") == f"{MARK}{first}\nb = 2\n".encode(encoding)


@pytest.mark.feature("E17")
async def test_a_byte_order_mark_can_be_removed_by_itself(workspace):
    workspace.write("m.txt", f"{MARK}a = 1\n".encode())

    await workspace.change("edit_file", path="m.txt", old_string=MARK, new_string="")

    assert workspace.read("m.txt") == b"a = 1\n"
