"""Programs that take code as an argument or on standard input, in languages without a reader. Data only."""

from __future__ import annotations

from typing import Final

from handrail.shell.tables.word_list import word_set

WINDOWS_SHELLS: Final = word_set("cmd cmd.exe powershell powershell.exe pwsh pwsh.exe")
# Programs of Windows that are started from any shell, with arguments of its own form.
WINDOWS_PROGRAMS: Final = WINDOWS_SHELLS | word_set("""
    diskpart diskpart.exe cipher cipher.exe icacls icacls.exe takeown takeown.exe cacls format.com fsutil fsutil.exe
    manage-bde mountvol schtasks schtasks.exe sc sc.exe taskkill taskkill.exe rmdir rd del sdelete sdelete64 wmic wmic.exe
    vssadmin.exe wbadmin.exe wevtutil.exe bcdedit.exe reg.exe netsh.exe shutdown.exe net.exe format
""")
EVALUATORS: Final = WINDOWS_SHELLS | word_set("""
    emacs emacsclient bpftrace dc gnuplot octave octave-cli matlab m4 wish expect ghc ghci runghc runhaskell erl
    iex scala scala-cli jshell kotlin kotlinc dotnet csi fsi ocaml utop sbcl clisp ecl racket guile clojure clj bb
    nim xonsh jupyter ipython rust-script evcxr crystal dart java groovysh swipl gprolog gforth haxe rpm go
    puppet chef-apply chef-shell cmake sage maxima gap gp janet fennel hy io wolframscript tcl irb pry jrunscript jjs
    tex latex pdftex pdflatex xelatex lualatex luatex etex context latexmk tectonic nmap
""")
