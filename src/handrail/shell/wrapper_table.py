"""Programs that run another program, as data: which words belong to them, and where its begin.

`flags` and `values` are short options without and with a value; `attached` ones take a value
only in the same word. Long options stand with `=` if they want a value. An option that is
not listed makes the command doubtful, so listing too few is harmless, a wrong one is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How one program's words are read up to the command that it runs.

    `operands`: how many words stand before the command. `rest`: what the remaining words
    are: "words" of a program, "text" for a shell (joined), or "" (nothing that runs).
    `text`: options whose value is a text for a shell. `idle`: options with which nothing
    runs. `shell`: options with which the remaining words are a text. `moves`: options with
    which the command runs in another directory ("" = always). `replaces`: options that name
    the placeholder for further arguments.
    """

    flags: str = ""
    values: str = ""
    attached: str = ""
    long: str = ""
    operands: int = 0
    assigns: bool = False
    rest: str = "words"
    text: frozenset[str] = frozenset()
    idle: frozenset[str] = frozenset()
    shell: frozenset[str] = frozenset()
    moves: frozenset[str] = frozenset()
    replaces: frozenset[str] = frozenset()
    extra: bool = False
    remote: bool = False
    # It stays in the same shell: `cd` and functions mean what they mean outside.
    inside: bool = False
    # Why the command cannot be vouched for even if its words are known.
    doubt: str = ""


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_ALWAYS: Final = frozenset({""})

_SUDO: Final = Wrapper(
    flags="ABbEHKkNnPS",
    values="CDghpRrTtUu",
    long=(
        "askpass background bell preserve-env edit close-from= chdir= group= set-home help host= "
        "login remove-timestamp reset-timestamp list no-update non-interactive preserve-groups "
        "prompt= chroot= role= stdin shell type= command-timeout= other-user= user= version validate"
    ),
    assigns=True,
    idle=_set("-e --edit -l --list -v --validate -K --remove-timestamp -V --version --help"),
    moves=_set("-D --chdir -R --chroot -i --login"),
    shell=_set("-s --shell -i --login"),
)

TABLE: Final[Mapping[str, Wrapper]] = {
    "env": Wrapper(
        flags="i0v",
        values="uCSa",
        long=(
            "ignore-environment null unset= chdir= split-string= argv0= debug block-signal "
            "default-signal ignore-signal list-signal-handling help version"
        ),
        assigns=True,
        moves=_set("-C --chdir"),
        idle=_set("--help --version"),
    ),
    "command": Wrapper(flags="pvV", idle=_set("-v -V"), inside=True),
    "builtin": Wrapper(inside=True),
    "exec": Wrapper(flags="cl", values="a", inside=True),
    "nohup": Wrapper(long="help version", idle=_set("--help --version")),
    "nice": Wrapper(values="n", long="adjustment= help version", idle=_set("--help --version")),
    "ionice": Wrapper(
        flags="tVh",
        values="cnpPu",
        long="class= classdata= pid= pgid= uid= ignore help version",
        idle=_set("-p --pid -P --pgid -u --uid -h --help -V --version"),
    ),
    "chrt": Wrapper(
        flags="abdefhimoprvGR",
        values="TPD",
        operands=1,
        long=(
            "all-tasks batch deadline ext fifo idle max other pid rr reset-on-fork verbose "
            "sched-runtime= sched-period= sched-deadline= help version"
        ),
        idle=_set("-p --pid -m --max -h --help"),
    ),
    "taskset": Wrapper(
        flags="apchV",
        operands=1,
        long="all-tasks pid cpu-list help version",
        idle=_set("-p --pid -h --help -V --version"),
    ),
    "time": Wrapper(
        flags="apqvV",
        values="fo",
        long="append portability quiet verbose format= output= help version",
        idle=_set("--help --version -V"),
    ),
    "timeout": Wrapper(
        flags="fpv",
        values="ks",
        operands=1,
        long="foreground preserve-status kill-after= signal= verbose help version",
        idle=_set("--help --version"),
    ),
    "stdbuf": Wrapper(
        values="ioe", long="input= output= error= help version", idle=_set("--help --version")
    ),
    "setsid": Wrapper(
        flags="cfwhV", long="ctty fork wait help version", idle=_set("-h --help -V --version")
    ),
    "xargs": Wrapper(
        flags="0oprtx",
        values="aEdILnPs",
        attached="eil",
        long=(
            "null arg-file= delimiter= eof= replace= max-lines= max-args= max-procs= max-chars= "
            "interactive no-run-if-empty show-limits verbose exit open-tty process-slot-var= help "
            "version"
        ),
        replaces=_set("-I -i --replace"),
        extra=True,
        idle=_set("--help --version"),
    ),
    "sudo": _SUDO,
    "doas": Wrapper(flags="Lns", values="aCu", shell=_set("-s"), idle=_set("-C -L")),
    "pkexec": Wrapper(
        values="u",
        long="user= disable-internal-agent keep-cwd version help",
        moves=_ALWAYS,
        idle=_set("--version --help"),
    ),
    "su": Wrapper(
        flags="flmpPThV",
        values="cCgGsw",
        long=(
            "command= session-command= fast login preserve-environment pty no-pty shell= group= "
            "supp-group= whitelist-environment= help version"
        ),
        operands=1,
        rest="",
        text=_set("-c --command -C --session-command"),
        moves=_ALWAYS,
    ),
    "runuser": Wrapper(
        flags="flmpPThV",
        values="cCgGsuw",
        long=(
            "command= session-command= fast login preserve-environment pty no-pty shell= group= "
            "supp-group= user= whitelist-environment= help version"
        ),
        text=_set("-c --command -C --session-command"),
        moves=_ALWAYS,
    ),
    "watch": Wrapper(
        flags="bcCdefgprtwxhv",
        values="nqs",
        attached="d",
        rest="text",
        long=(
            "beep color no-color differences errexit follow chgexit interval= precise no-rerun "
            "no-title no-wrap equexit= exec shotsdir= help version"
        ),
        idle=_set("-h --help -v --version"),
        extra=False,
    ),
    "flock": Wrapper(
        flags="eFnosuxhV",
        values="cEw",
        operands=1,
        long=(
            "exclusive no-fork nonblock nb close shared unlock verbose command= conflict-exit-code= "
            "timeout= wait= help version"
        ),
        text=_set("-c --command"),
    ),
    "unshare": Wrapper(
        flags="imnpuUCTfrch",
        values="RwSG",
        rest="words",
        moves=_set("-R --root -w --wd"),
        long=(
            "ipc mount net pid uts user cgroup time fork kill-child mount-proc map-user= map-group= "
            "map-users= map-groups= map-root-user map-current-user map-auto keep-caps propagation= "
            "setgroups= root= wd= setuid= setgid= monotonic= boottime= help version"
        ),
    ),
    "nsenter": Wrapper(
        flags="aFZhV",
        values="tSG",
        attached="miunpCUTrwW",
        moves=_ALWAYS,
        long=(
            "all target= mount ipc uts net pid cgroup user time setuid= setgid= "
            "preserve-credentials root wd wdns no-fork follow-context help version"
        ),
    ),
    "chroot": Wrapper(operands=1, long="groups= userspec= skip-chdir help version", moves=_ALWAYS),
    "setpriv": Wrapper(
        flags="dhV",
        moves=frozenset(),
        long=(
            "dump no-new-privs ambient-caps= bounding-set= inh-caps= list-caps ruid= euid= rgid= "
            "egid= reuid= regid= clear-groups keep-groups init-groups groups= securebits= pdeathsig= "
            "selinux-label= apparmor-profile= reset-env help version"
        ),
    ),
    "strace": Wrapper(
        flags="cCdDfFhiknNqrtTvVwxyYzZ",
        values="aAbeEIoOpPsSuUX",
        long=(
            "output= attach= trace= string-limit= env= summary summary-only follow-forks user= "
            "columns= help version"
        ),
    ),
    "ltrace": Wrapper(
        flags="bcCfhiLrStTV", values="aADeFlnopsuwx", long="output= help version demangle"
    ),
    "valgrind": Wrapper(
        flags="hqvd",
        long="tool= leak-check= log-file= error-exitcode= trace-children= quiet verbose help version",
    ),
    "entr": Wrapper(flags="acdnprsxz", shell=_set("-s"), extra=True),
    "jobs": Wrapper(rest="", inside=True),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "chronic": Wrapper(flags="ev"),
    "caffeinate": Wrapper(flags="dimsu", values="tw"),
    "dbus-run-session": Wrapper(long="config-file= dbus-daemon= help version"),
    "xvfb-run": Wrapper(
        flags="ahl",
        values="efnpsw",
        long="auto-servernum error-file= auth-file= server-num= listen-tcp xauth-protocol= server-args= wait=",
    ),
    "systemd-run": Wrapper(
        flags="dtPqGrShM",
        values="pEuHM",
        moves=_ALWAYS,
        long=(
            "user system scope unit= property= description= slice= remain-after-exit send-sighup "
            "service-type= uid= gid= nice= working-directory= same-dir setenv= pty pipe quiet collect "
            "shell wait on-calendar= on-active= no-block no-ask-password"
        ),
        shell=_set("-S --shell"),
    ),
    "firejail": Wrapper(
        long="quiet noprofile profile= net= private private= noroot",
        doubt="firejail changes what it sees",
    ),
    "proxychains": Wrapper(flags="q", values="f"),
    "proxychains4": Wrapper(flags="q", values="f"),
    "torsocks": Wrapper(flags="i"),
    "fakeroot": Wrapper(flags="uhv", values="lsib", long="lib= faked= help version"),
    "unbuffer": Wrapper(flags="p"),
    "rlwrap": Wrapper(
        flags="aAcCeEhiImnNoprRsSvwW", values="bdDfFgHlMPqtT", doubt="rlwrap runs filters"
    ),
    "ssh": Wrapper(
        flags="46AaCfGgKkMNnqsTtVvXxYy",
        values="BbcDEeFIiJLlmOopQRSWwP",
        operands=1,
        rest="text",
        moves=_ALWAYS,
        remote=True,
    ),
    "script": Wrapper(
        flags="aefqhV",
        values="cEIoOBmtT",
        attached="t",
        operands=1,
        rest="",
        long=(
            "append command= echo= return flush force log-in= log-out= log-io= log-timing= "
            "logging-format= output-limit= quiet timing= help version"
        ),
        text=_set("-c --command"),
    ),
    "parallel": Wrapper(
        flags="0kmXqtvuBn",
        values="jPNLnISadCEilsU",
        rest="text",
        extra=True,
        long=(
            "jobs= keep-order max-args= null arg-file= bar dry-run halt= joblog= line-buffer "
            "max-lines= pipe progress quote results= retries= tag timeout= ungroup verbose xargs "
            "will-cite no-notice colsep= delimiter= dryrun eta"
        ),
        doubt="parallel makes shell text of its input",
    ),
}
