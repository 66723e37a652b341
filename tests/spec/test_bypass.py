"""Ways around a forbidden file that worked elsewhere, through every tool and on each backend.

One workspace, whose repository keeps a copy of everything: `.env` and `secrets/` are closed,
`*.lock` may be read and not written. In `bypass`, where nobody can be asked, a call is refused,
or runs without reaching them. A check of the words that were given lets most of these through.
"""

import subprocess

import pytest
from tests.support.machine import SANDBOXES_AND_NONE

import handrail

SECRET = "hunter2-zebra"
RAILS = {"guardrails": {"sensitive_files": [".env", "secrets/**"], "protected_files": ["*.lock"]}}

BY_NAME = """
cat .env
cat a.txt .env
cat<.env
cat ./././.env
cat src/../.env
cat .ENV
cat /proc/self/cwd/.env
cat \\.env
c\\at .env
cat '.e'"nv"
cat $'\\x2eenv'
cat .en{v,w}
cat .[e]nv
cat ./.en?
cat .e*
{ cat .env; }
(cat .env)
cat <(cat .env)
cat < <(cat .env)
echo $(<.env)
echo "$(cat secrets/*)"
f=.env; cat $f
cat $(echo .env)
cat "$(head -1 list.txt)"
while read f; do cat $f; done < list.txt
for f in .*; do cat $f; done
exec 3<.env; cat <&3
read x < .env; echo $x
mapfile a < .env; echo ${a[@]}
. ./.env; echo $TOKEN
set -a; source .env; env
cd secrets; cat key
pushd secrets; cat key
trap 'cat .env' EXIT
coproc cat .env; cat <&${COPROC[0]}
[[ -f x ]] || cat .env
ls & cat .env
ls | cat secrets/key
eval 'cat .e"n"v'
sh -c 'cat .env'
bash <<'E'|cat .env|E
env -S 'cat .env'
timeout 5 cat .env
nohup stdbuf -o0 cat .env
BASH_ENV=.env bash -c 'echo $TOKEN'
xargs cat < list.txt
xargs -a list.txt cat
find . -name '.e*' -exec cat {} ;
find . -type f | xargs cat
find . -exec cat {} +
diff /dev/null .env
grep . .env
grep -r hunter .
grep -rf .env .
sed -n 'r .env' list.txt
sed 's/.*/cat .env/e' list.txt
awk 'BEGIN{while((getline l < ".env")>0) print l}'
awk 'BEGIN{system("cat .env")}'
sort --files0-from=list.txt
dd if=.env
base64 .env
m4 .env
env $(cat .env) env
date -f .env
python3 -c 'print(open(".env").read())'
python3 -c 'print(open(chr(46)+"env").read())'
perl -e 'open F,".e"."nv";print <F>'
make
curl file://$PWD/.env
"""
BY_GIT = """
git show HEAD:.env
git show :.env
git show 'HEAD:.e''nv'
git show HEAD
git cat-file -p HEAD:.env
git cat-file --batch <<< HEAD:.env
git rev-parse HEAD:.env | git cat-file --batch
git log -p
git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904 HEAD
git grep hunter
git grep hunter HEAD
git blame .env
git archive HEAD
git archive HEAD | tar xO
git format-patch -1 --stdout --root HEAD
git fast-export HEAD
git bundle create b HEAD
git stash
git checkout HEAD -- .
git checkout HEAD -- .env
git restore --source HEAD deps.lock
git mv .env visible
git rm --cached .env
git worktree add wt
git worktree add ../wt2
git clone . cl
git -C . show HEAD:.env
git --work-tree=. show HEAD:.env
GIT_DIR=.git git show HEAD:.env
git -c alias.x='!cat .env' x
git -c core.pager='cat .env' -p log
git config -f .env -l
git commit -F .env
git hash-object -w .env
"""
BY_COPY = """
tar cf x.tar . ; tar xOf x.tar ./.env
tar cf - .
tar -T list.txt -cf -
zip -r x.zip .
cpio -o < list.txt
cp .env z
cp -r . copy
cp -r secrets out
cp -t src .env
ln .env z
ln -s .env z ; cat z
ln -s secrets zz
install .env z
rsync -a . copy
mv .env z
mv secrets zz
split .env p
gzip -k .env
gzip -c .env | zcat
"""
BY_WRITING = """
echo two > deps.lock
echo two >| deps.lock
echo two >> ./deps.lock
echo two | tee deps.lock
tee -a x deps.lock <<< two
sed -i s/one/two/ deps.lock
sed '1w deps.lock' list.txt
cp a.txt deps.lock
mv a.txt deps.lock
install /dev/null deps.lock
ln -sf a.txt deps.lock
ln deps.lock z; echo two > z
ln -s deps.lock z; echo two > z
rm deps.lock
rm -f *.lock
find . -name 'deps.*' -delete
find -fprint deps.lock
truncate -s0 deps.lock
shred -u deps.lock
dd of=deps.lock <<< two
python3 -c 'open("deps.lock","w").write("two")'
echo 'echo two > deps.lock' > s.sh; bash s.sh
exec 3> deps.lock; echo two >&3
{ echo two; } > deps.lock
echo two > >(cat > deps.lock)
vim -c 'w! deps.lock' -c q a.txt
xargs rm <<< deps.lock
"""
COMMANDS = [
    line.replace("|E", "\nE").replace("'E'|", "'E'\n")
    for listed in (BY_NAME, BY_GIT, BY_COPY, BY_WRITING)
    for line in listed.strip().splitlines()
]
RENAMED = "diff --git a/{0} b/z\nsimilarity index 100%\n{1} from {0}\n{1} to z\n"
MOVED = "*** Begin Patch\n*** Update File: {}\n*** Move to: {}\n@@\n-{}\n+two\n*** End Patch\n"
CALLS = [
    ("read_file", {"path": ".env/."}),
    ("read_file", {"path": "secrets"}),
    ("file_info", {"path": ".Env"}),
    ("grep", {"pattern": "hunter", "output_mode": "content"}),
    ("grep", {"pattern": "hunter", "glob": ".env", "output_mode": "content"}),
    ("grep", {"pattern": "hunter", "path": "secrets/../.env", "output_mode": "content"}),
    ("apply_patch", {"patch": MOVED.format(".env", "z", f"TOKEN={SECRET}")}),
    ("apply_patch", {"patch": MOVED.format("a.txt", "deps.lock", "open")}),
    ("apply_patch", {"patch": MOVED.format("deps.lock", "z", "one")}),
    ("apply_patch", {"patch": RENAMED.format(".env", "rename")}),
    ("apply_patch", {"patch": RENAMED.format(".env", "copy")}),
    ("apply_patch", {"patch": RENAMED.format("deps.lock", "rename")}),
    ("apply_patch", {"patch": "--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-wrong\n+x\n"}),
    ("notebook_edit", {"path": ".env", "cell": 0, "new_source": "x"}),
    ("notebook_edit", {"path": "deps.lock", "cell": 0, "new_source": "x"}),
    ("write_file", {"path": "secrets", "content": "two"}),
    ("write_file", {"path": "deps.lock", "content": "two", "mode": "append"}),
    ("delete_file", {"path": "deps.lock"}),
    ("delete_file", {"path": "secrets"}),
    ("undo", {"scope": "path", "target": "deps.lock"}),
    ("execute_code", {"language": "python", "code": "print(open('.env').read())"}),
    ("execute_code", {"language": "python", "code": "open('deps.lock', 'w').write('two')"}),
    ("execute_code", {"language": "bash", "code": "cat .e*"}),
    ("execute_code", {"language": "bash", "code": "git show HEAD:.env"}),
    ("run_command", {"command": "cat .e*", "background": True}),
    ("run_command", {"command": "cat key", "cwd": "secrets"}),
    ("run_command", {"command": "cat $F", "env": {"F": ".env"}}),
    ("run_command", {"command": "true", "env": {"BASH_ENV": ".env"}}),
]


@pytest.fixture
def project(workspace):
    """Everything is in the repository too, the secrets included."""
    workspace.write(".env", f"TOKEN={SECRET}\n")
    workspace.write("secrets/key", f"{SECRET}\n")
    workspace.write("deps.lock", "one\n")
    workspace.write("a.txt", "open\n")
    workspace.write("src/a.py", "x = 1\n")
    workspace.write("list.txt", ".env\nsecrets/key\n")
    workspace.write("Makefile", "all:\n\t@cat .env\n\techo two > deps.lock\n")
    for words in (["init", "-q"], ["add", "-f", "."], ["commit", "-qm", "one"]):
        named = ["git", "-c", "user.name=n", "-c", "user.email=n@example.org"]
        subprocess.run([*named, *words], cwd=workspace.root, check=True)
    return workspace


def assert_closed(project, told):
    """The secret was told nowhere and lies nowhere else; what is protected is as it was."""
    assert SECRET not in told
    tree = project.tree()
    holders = {path for path, data in tree.items() if SECRET.encode() in data}
    assert holders == {".env", "secrets/key"}
    assert tree["deps.lock"] == b"one\n"
    assert not (project.root / "deps.lock").is_symlink()


@pytest.mark.parametrize("backend", SANDBOXES_AND_NONE)
async def test_no_command_reaches_what_is_closed(open_runtime, project, backend):
    config = {**RAILS, "accept_no_sandbox": True, "loop_guard": "off"}
    async with open_runtime(mode="bypass", sandbox=backend, config=config) as rt:
        for command in COMMANDS:
            result = await rt.call("run_command", {"command": command})
            told = f"{result.text}{result.data}{result.display}"

            assert result.problem is None or result.problem.code != "internal", (command, told)
            assert SECRET not in told, command
            assert (project.root / "deps.lock").read_bytes() == b"one\n", command
            assert (project.root / ".env").exists(), command
    assert_closed(project, "")


@pytest.mark.needs_sandbox
async def test_commands_that_run_beside_it_do_not_see_it(open_runtime, project):
    # Out of the repository, so that the sandbox can hide all there is of it.
    (project.root / ".git").rename(project.root.parent / "git")
    config = {"guardrails": {"sensitive_files": [".env", "secrets/**"]}, "loop_guard": "off"}
    ran = []
    async with open_runtime(mode="bypass", sandbox="bubblewrap", config=config) as rt:
        for command in (BY_NAME + BY_COPY).strip().splitlines():
            result = await rt.call("run_command", {"command": command})
            ran += [command] if result.status in ("ok", "failed") else []
            assert SECRET not in f"{result.text}{result.data}{result.display}", command
    tree = {path: data for path, data in project.tree().items() if not path.startswith("secrets/")}
    assert [path for path, data in tree.items() if SECRET.encode() in data] == [".env"]
    assert "make" in ran
    assert len(ran) > 20


@pytest.mark.parametrize("backend", SANDBOXES_AND_NONE)
async def test_no_other_tool_reaches_it_either(open_runtime, project, backend):
    config = {**RAILS, "accept_no_sandbox": True, "loop_guard": "off"}
    settings = {"mode": "bypass", "sandbox": backend, "config": config, "allow_delete": True}
    async with open_runtime(**settings) as rt:
        told = ""
        for tool, arguments in CALLS:
            result = await rt.call(tool, arguments)
            assert tool == "grep" or not result.ok, (tool, arguments, result.text)
            # What the call gave itself may be named again.
            if SECRET not in str(arguments):
                told += f"{result.text}{result.data}{result.display}"
    assert_closed(project, told)


async def test_undo_and_redo_of_a_model_do_not_write_what_is_closed(workspace, tmp_path):
    workspace.write("deps.lock", "one\n")
    same = {"mode": "bypass", "store": tmp_path / "audit.sqlite", "session": "mine"}
    async with handrail.open(workspace.root, **same) as rt:
        await rt.call("write_file", {"path": "deps.lock", "content": "two\n"}, id="w")
    async with handrail.open(workspace.root, **same, config=RAILS) as rt:
        by_call = await rt.call("undo", {"scope": "call", "target": "w"})
        last = await rt.call("undo", {"scope": "last"})
        kept = workspace.read("deps.lock")
        by_person = await rt.undo("w")

    assert [by_call.ok, last.ok] == [False, False]
    assert kept == b"two\n"
    assert by_person.ok
    assert workspace.read("deps.lock") == b"one\n"
