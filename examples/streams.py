# examples/streams.py - the same work on one stream and on four, and where the time goes.
"""Copies in, a kernel, copies out: in turn on one stream, side by side on several.

python examples/streams.py [PICTURE.png] [TRACE.json]

The picture is the timeline of both; the trace is for ui.perfetto.dev.
"""

import sys

import numpy as np

import cupola

PIECES = 8
N = 1 << 20  # elements of a piece

module = cupola.compile(r"""
extern "C" __global__ void smooth(float* x, unsigned n, unsigned steps) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i];
    for (unsigned k = 0; k < steps; ++k) value = value * 0.75f + 0.25f;
    x[i] = value;
}
""")
smooth = module["smooth"].forall(N)

# Page-locked memory: a copy from or to any other is not left to the device, but waited for.
source = cupola.empty_pinned((PIECES, N), np.float32)
source[:] = np.arange(N, dtype=np.float32)
results = cupola.empty_pinned((2, PIECES, N), np.float32)
pieces = [cupola.empty(N, np.float32) for _ in range(PIECES)]


def seconds(call, *arguments):
    """On the device, between two events."""
    start, stop = cupola.Event(), cupola.Event()
    start.record()
    call(*arguments)
    stop.record()
    return stop.elapsed_since(start)


def steps_for(target):
    """How many steps take the kernel about that long."""
    smooth(pieces[0], N, 1)  # the first launch loads the code
    steps = 1
    while seconds(smooth, pieces[0], N, steps) < target:
        steps *= 2
    return steps


def work(streams, steps, result):
    """Every piece there, through the kernel, and back: each on the next stream in turn."""
    for i, there in enumerate(pieces):
        with streams[i % len(streams)] as stream:
            there.set(source[i], stream=stream)
            module["smooth"].forall(N)(there, N, steps)
            there.get(out=result[i], stream=stream)
    for stream in streams:
        stream.synchronize()


def main(picture, trace):
    queue = cupola.Stream.current()
    for piece in pieces:
        piece.set(source[0], stream=queue)
    copying = seconds(lambda: pieces[0].set(source[0], stream=queue))
    steps = steps_for(copying)

    one = [cupola.Stream(non_blocking=True)]
    four = [cupola.Stream(non_blocking=True) for _ in range(4)]
    results[:] = 0
    with cupola.profile(trace, picture=picture) as profile:
        with profile.range("one stream"):
            work(one, steps, results[0])
        with profile.range("four streams"):
            work(four, steps, results[1])
    expected = source[0]
    for _ in range(min(steps, 100)):  # by then it changes no more
        expected = expected * np.float32(0.75) + np.float32(0.25)
    assert np.allclose(results, expected)
    assert (results[0] == results[1]).all()

    megabytes = source[0].nbytes / 2**20
    print(f"{PIECES} pieces of {megabytes:g} MiB, {steps} steps each, through the same kernel")
    times = {o.name: o.call_end - o.call_begin for o in profile.operations if o.kind == "range"}
    for name, time in times.items():
        print(f"{name}: {time * 1e3:.2f} ms")
    handles = {stream.handle for stream in four}
    spans = [(o.begin, o.end) for o in profile.operations if o.stream in handles]
    busy = sum(end - begin for begin, end in spans)
    passed = max(end for _, end in spans) - min(begin for begin, _ in spans)
    print(f"on four streams {busy / passed:.1f} things went on at a time")
    print(f"written: {picture}, {trace}")


if __name__ == "__main__":
    main(*(sys.argv[1:] + ["streams.png", "streams.json"][len(sys.argv) - 1 :]))
