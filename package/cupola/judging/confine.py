# cupola/judging/confine.py - gives a process its limits, then runs a program in its place.
"""Run as a file, with limits in JSON and the program: only the standard library is imported.

The limits hold for the program and for all processes that it starts.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import struct
import sys

_NEW_USER, _NEW_NET = 0x10000000, 0x40000000  # CLONE_NEWUSER, CLONE_NEWNET
_NO_NEW_PRIVILEGES, _NOT_DUMPABLE = 38, 4  # PR_SET_NO_NEW_PRIVS, PR_SET_DUMPABLE
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # landlock_create_ruleset and on
_WRITE, _TRUNCATE = 1 << 1, 1 << 14
# Writing, removing and making files and folders; the last two since versions 2 and 3 of Landlock.
_CHANGES = [_WRITE | sum(1 << bit for bit in range(4, 13)), 1 << 13, _TRUNCATE]
_TCP = 0b11  # bind and connect, since version 4


def main(arguments: list[str]) -> None:
    """Apply the limits of the first argument, and become the program of the others."""
    limits = json.loads(arguments[0])
    libc = ctypes.CDLL(None, use_errno=True)
    os.setsid()
    os.chdir(limits["folder"])
    for name in ("CORE", "FSIZE", "AS", "CPU"):
        most = limits[name]
        hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
    libc.prctl(_NOT_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    network = _cut_network(libc)
    writes, tcp = _cut_writes(libc, limits["folder"])
    os.environ["CUPOLA_JUDGE_NETWORK"] = "cut" if network else "TCP cut" if tcp else "open"
    os.environ["CUPOLA_JUDGE_WRITES"] = "cut" if writes else "open"
    os.execv(arguments[1], arguments[1:])


def _cut_network(libc: ctypes.CDLL) -> bool:
    """Move this process to a network namespace that has no device."""
    if libc.unshare(_NEW_NET) == 0:
        return True
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NEW_USER | _NEW_NET) != 0:
        return False
    # Without its own number, the user could not make files.
    for name, text in (
        ("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1"),
    ):  # fmt: skip
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    return True


def _cut_writes(libc: ctypes.CDLL, folder: str) -> tuple[bool, bool]:
    """Let Landlock refuse changes of files outside of the folder, and TCP, as far as it can."""
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False, False
    changes = sum(_CHANGES[: min(version, 3)])
    wanted = struct.pack("QQ", changes, _TCP)[: 16 if version >= 4 else 8]
    rules = libc.syscall(_CREATE_RULESET, wanted, ctypes.c_size_t(len(wanted)), 0)
    if rules < 0:
        return False, False
    for path, rights in ((folder, changes), ("/dev/null", changes & (_WRITE | _TRUNCATE))):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", rights, place)
        if libc.syscall(_ADD_RULE, rules, 1, rule, 0) != 0:
            return False, False
        os.close(place)
    done = libc.syscall(_RESTRICT_SELF, rules, 0) == 0
    os.close(rules)
    return done, done and version >= 4


if __name__ == "__main__":
    main(sys.argv[1:])
