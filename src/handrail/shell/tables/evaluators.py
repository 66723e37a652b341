"""Programs that take code as an argument or on standard input, in languages without a reader. Data only."""

from __future__ import annotations

from typing import Final

from handrail.shell.tables.word_list import word_set

WINDOWS_SHELLS: Final = word_set("cmd cmd.exe powershell powershell.exe pwsh pwsh.exe")
EVALUATORS: Final = WINDOWS_SHELLS | word_set("""
    emacs emacsclient bpftrace dc gnuplot octave octave-cli matlab m4 wish expect ghc ghci runghc runhaskell erl
    iex scala scala-cli jshell kotlin kotlinc dotnet csi fsi ocaml utop sbcl clisp ecl racket guile clojure clj bb
    nim xonsh jupyter ipython rust-script evcxr crystal dart java groovysh swipl gprolog gforth haxe rpm go
    cmake sage maxima gap gp janet fennel hy io wolframscript tcl irb pry
""")
