"""The path corpus in patch headers, through the engine and in every dialect."""

import pytest
from tests.support.layout import build_layout, corpus

import handrail
from handrail.dialects.known import DIALECTS, find_vocabulary

ROWS = corpus("paths_escape.jsonl", "patch_header")
UPDATE = "@@ -1 +1 @@\n-SECRET\n+x\n"
CREATE = "@@ -0,0 +1 @@\n+x\n"


def patches(header):
    """A row's header made into whole patches, in both formats."""
    if header.startswith("*** Move to:"):
        return [f"*** Begin Patch\n*** Update File: README.md\n{header}\n*** End Patch\n"]
    if header.startswith("*** Add"):
        return [f"{header}\n+x\n", f"*** Begin Patch\n{header}\n+x\n*** End Patch\n"]
    if header.startswith("***"):
        return [f"{header}\n{UPDATE}", f"*** Begin Patch\n{header}\n{UPDATE}*** End Patch\n"]
    if header.startswith("---"):
        return [f"{header}\n{CREATE if '/dev/null' in header else UPDATE}"]
    if "@@" in header:
        return [header + "\n"]
    return [f"{header}\n", f"diff --git a/README.md b/README.md\nsimilarity index 100%\n{header}\n"]


@pytest.mark.feature("E18", "I01")
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_no_header_of_a_patch_leads_outside(tmp_path, dialect):
    layout = build_layout(tmp_path)
    before, allowed, leaked = layout.outside(), [], []
    vocabulary = find_vocabulary(dialect)
    view = vocabulary.shown("apply_patch")

    async with handrail.open(
        layout.work, dialect=dialect, mode="accept-edits", allow_delete=True, store=":memory:"
    ) as rt:
        for row in ROWS:
            for patch in [row["path"], *patches(layout.path_of(row))]:
                result = await rt.call(view.name, vocabulary.spell(view, {"patch": patch}))
                if result.ok:
                    allowed.append((row["id"], patch))
                if "SECRET\n" in result.text:
                    leaked.append((row["id"], patch))

    assert len(ROWS) == 8
    assert allowed == []
    assert leaked == []
    assert layout.outside() == before
    assert not (layout.work / "stolen.txt").exists()
    assert not (layout.work / "evil_link").is_symlink()


@pytest.mark.parametrize(
    "patch",
    [
        "--- a/l_dir_out/secret.txt\n+++ b/l_dir_out/secret.txt\n" + UPDATE,
        "--- a/l_rel_file\n+++ b/l_rel_file\n" + UPDATE,
        "--- /dev/null\n+++ b/l_up/new.txt\n" + CREATE,
        "rename from README.md\nrename to l_dir_out/README.md\n",
        "copy from l_abs_file\ncopy to stolen.txt\n",
        "*** Delete File: l_dir_out/secret.txt\n",
        '--- "a/\\056\\056/outside/secret.txt"\n+++ "b/\\056\\056/outside/secret.txt"\n' + UPDATE,
    ],
)
async def test_no_link_and_no_escape_in_a_header_leads_outside(tmp_path, patch):
    layout = build_layout(tmp_path)
    before = layout.outside()

    async with handrail.open(
        layout.work, mode="accept-edits", allow_delete=True, store=":memory:"
    ) as rt:
        result = await rt.call("apply_patch", {"patch": patch})

    assert result.problem.code == "outside_workspace"
    assert "SECRET" not in result.text
    assert layout.outside() == before


@pytest.mark.parametrize(
    "path", [".git/info/attributes", ".git/hooks/post-commit", ".envrc", "src/x.pth"]
)
async def test_protected_names_are_seen_through_a_patch(tmp_path, path):
    layout = build_layout(tmp_path)

    async with handrail.open(layout.work, mode="accept-edits", store=":memory:") as rt:
        result = await rt.call("apply_patch", {"patch": f"--- /dev/null\n+++ b/{path}\n{CREATE}"})

    assert result.problem.code == "protected"
