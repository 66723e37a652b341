"""`python tests/support/without_landlock.py COMMAND…` runs a command as on a kernel without
Landlock: for it and everything it starts, the system calls of Landlock do not exist.
"""

import ctypes
import errno
import os
import struct
import sys

# The numbers are the same on every architecture: create_ruleset, add_rule, restrict_self.
FIRST_CALL, LAST_CALL = 444, 446
PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_SET_NO_NEW_PRIVS = 22, 2, 38
LOAD_WORD, JUMP_IF_GREATER, JUMP_IF_AT_LEAST, RETURN = 0x20, 0x25, 0x35, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000 | errno.ENOSYS


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def remove_landlock() -> None:
    """Make the system calls of Landlock fail in this process and in all that it starts."""
    lines = (
        (LOAD_WORD, 0, 0, 0),
        (JUMP_IF_GREATER, 2, 0, LAST_CALL),
        (JUMP_IF_AT_LEAST, 0, 1, FIRST_CALL),
        (RETURN, 0, 0, FAIL),
        (RETURN, 0, 0, ALLOW),
    )
    code = b"".join(struct.pack("=HBBI", *line) for line in lines)
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() and libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs")
    program = ctypes.byref(_Program(len(lines), code))
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    remove_landlock()
    os.execvp(sys.argv[1], sys.argv[1:])
