"""The judge's processes: their limits, and what they may answer."""

import json
import os
import socket
import struct
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cupola.judging import Limits
from cupola.judging.messages import MessageError, receive, send
from cupola.judging.process import Ended, Process


def test_the_limits_of_a_process(tmp_path):
    program = (
        "import os, resource, socket, sys\n"
        "print(os.getcwd(), resource.getrlimit(resource.RLIMIT_CORE), os.environ)\n"
        "for attempt in sys.argv[1:]:\n"
        "    try: exec(attempt)\n"
        "    except OSError as error: print('refused', error)\n"
        "    else: print('done')\n"
    )
    from cupola.judging import confine

    told = {"folder": str(tmp_path), "CORE": 0, "FSIZE": 1000, "AS": 1 << 30, "CPU": 5}
    outside = Path(os.environ.get("HOME", "/")) / "cupola-judge-was-here"
    done = subprocess.run(
        [sys.executable, "-I", "-S", confine.__file__, json.dumps(told), sys.executable, "-c",
         program, "open('inside', 'w')", f"open({str(outside)!r}, 'w')",
         "socket.create_connection(('127.0.0.1', 1), 1)",
         "file = open('more', 'wb', 0); file.write(b'1' * 2000); file.write(b'1')"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    where, inside, out, network, more = done.stdout.splitlines()
    assert where.startswith(f"{tmp_path} (0, 0)") and inside == "done"
    assert network.startswith("refused") and more.startswith("refused")
    if "'CUPOLA_JUDGE_WRITES': 'cut'" in where:
        assert out.startswith("refused") and not outside.exists()


def test_a_process_that_does_not_answer():
    with Process(
        "reference_process", replace(Limits(), launch_seconds=1.0, seconds=30.0, output=100_000)
    ) as one:
        start = time.monotonic()
        with pytest.raises(Ended) as error:
            one.answer(0.2)
        assert error.value.code == "timeout" and time.monotonic() - start < 5
        folder = one.folder
    assert not os.path.exists(folder)


@pytest.mark.parametrize("content", [
    b"", b"123", struct.pack("<QQ", 1 << 60, 0), struct.pack("<QQ", 2, 1 << 60) + b"{}",
    struct.pack("<QQ", 2, 0) + b"[]", struct.pack("<QQ", 2, 0) + b"{}",
    struct.pack("<QQ", 14, 3) + b'{"pieces":[4]}abc', struct.pack("<QQ", 3, 0) + b"\xff{}",
    struct.pack("<QQ", 40000, 0) + b"[" * 40000, struct.pack("<QQ", 16, 0) + b'{"pieces":"abc"}',
])  # fmt: skip
def test_a_hostile_message_is_refused(content):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(content)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(MessageError):
            receive(ours, 1 << 20, 2)


def test_messages():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send(theirs, {"a": [1]}, [b"12", np.arange(3, dtype=np.uint8), b""])
        assert receive(ours, 100) == ({"a": [1]}, [b"12", b"\0\1\2", b""])
