# cupola/chunks/chunk_size.py - chooses the rows of a chunk and the slots of a device.
"""The size of chunks."""

from __future__ import annotations

from cupola.chunks.host_arrays import HostArrays, row_bytes
from cupola.exceptions import ArgumentValueError

# Limits of the bytes that a chunk copies in its larger direction, upload or download: large enough
# for full copy speed, and for a small host overhead.
MOST = 32 << 20
LEAST = 1 << 20
# With fewer chunks, the first upload and the last download take a large part of the time.
CHUNKS = 64


def choose(
    hosts: HostArrays, chunk: int | None, slots: int, memory: int, devices: int
) -> tuple[int, int]:
    """The rows of a chunk, at most those of the arrays, and the number of slots of a device."""
    row = sum(row_bytes(array) for array in hosts.arrays)
    if chunk is None:
        direction = max(
            sum(row_bytes(hosts.arrays[i]) for i in set(hosts.inputs)),
            sum(row_bytes(hosts.arrays[i]) for i in set(hosts.outputs)),
            1,
        )
        wanted = min(max(hosts.rows * direction // CHUNKS, LEAST), MOST)
        each = -(-hosts.rows // devices)  # so that no device is idle
        chunk = min(wanted // direction, memory // max(slots * row, 1), each)
    chunk = max(1, min(chunk, hosts.rows))
    fit = memory // max(chunk * row, 1)
    if fit < 1:
        raise ArgumentValueError(
            f"a chunk of {chunk} rows takes {chunk * row} bytes of a device, and memory= allows "
            f"{memory}" + ("; take a smaller chunk=" if chunk > 1 else "")
        )
    return chunk, min(slots, fit)
