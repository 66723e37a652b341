"""The texts that a command passes to a program: in here-documents and pipes."""

import base64

import pytest
from tests.support.commands import expanded

from handrail.shell.blocklist.passed_texts import input_texts

CODE = base64.b64encode(b"rm -rf /").decode()
DIGITS = b"rm -rf /".hex()


def texts(command, program="sh"):
    seen = expanded(command)
    one = next(each for each in reversed(seen.flat.invocations) if each.program == program)
    return [text.strip() for text in input_texts(one, seen)]


@pytest.mark.parametrize(
    ("command", "read"),
    [
        ("sh <<< 'rm x'", ["rm x"]),
        ("sh <<EOF\nrm x\nEOF", ["rm x"]),
        ("sh < file", []),
        ("sh", []),
        ("echo rm x | sh", ["rm x"]),
        ("/bin/echo rm x | sh", ["rm x"]),
        ("printf 'rm x' | sh", ["rm x"]),
        ("printf 'a\\nb' | sh", ["a\nb"]),
        ("cat <<< 'rm x' | sh", ["rm x"]),
        ("cat file | sh", []),
        ("echo rm x | cat | sh", ["rm x"]),
        ("echo rm x | cat | tee y | sh", ["rm x"]),
        ("echo rm x | a | b | c | sh", ["rm x"]),
        ("echo rm x | a | b | c | d | sh", []),
        ("echo rm x | env sh", ["rm x"]),
        ('x="rm y"; echo "$x" | sh', ["rm y"]),
        (f"echo {CODE} | base64 -d | sh", ["rm -rf /"]),
        (f"echo {CODE} | base64 --decode | sh", ["rm -rf /"]),
        (f"echo {CODE} | base64 -D | sh", ["rm -rf /"]),
        (f"echo {CODE} | base64 | sh", [CODE]),
        (f"echo {CODE} | cat -d | sh", [CODE]),
        (f"echo {DIGITS} | xxd -r -p | sh", ["rm -rf /"]),
        (f"echo {DIGITS} | xxd -p | sh", [DIGITS]),
        ("echo zz | xxd -r -p | sh", ["zz"]),
        ("echo '/ fr- mr' | rev | sh", ["rm -rf /"]),
        ("echo '/ fr- mr' | cat | sh", ["/ fr- mr"]),
    ],
)
def test_what_a_shell_reads(command, read):
    assert texts(command) == read
