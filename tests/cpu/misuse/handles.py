"""Misuse of handles of what is gone, or never was."""

from driver_abi import *

from .world import cases, out

# Handles of objects that are destroyed or never existed. A driver that follows such a handle may
# crash.
cases(
    stale={
        "cuStreamQuery": lambda w: w.cuStreamQuery(w.dead("stream")),
        "cuStreamSynchronize": lambda w: w.cuStreamSynchronize(w.dead("stream")),
        "cuStreamDestroy_v2": lambda w: w.cuStreamDestroy_v2(w.dead("stream")),
        "cuStreamGetFlags": lambda w: w.cuStreamGetFlags(w.dead("stream"), out()),
        "cuLaunchKernel on a stream": lambda w: w.launch(stream=w.dead("stream")),
        "cuEventRecord": lambda w: w.cuEventRecord(w.dead("event"), 0),
        "cuEventQuery": lambda w: w.cuEventQuery(w.dead("event")),
        "cuEventSynchronize": lambda w: w.cuEventSynchronize(w.dead("event")),
        "cuEventDestroy_v2": lambda w: w.cuEventDestroy_v2(w.dead("event")),
        "cuStreamWaitEvent": lambda w: w.cuStreamWaitEvent(0, w.dead("event"), 0),
        "cuModuleUnload": lambda w: w.cuModuleUnload(w.dead("module")),
        "cuModuleGetFunction": lambda w: w.cuModuleGetFunction(out(), w.dead("module"), b"empty"),
        "cuGraphDestroy": lambda w: (lambda g: (w.cuGraphDestroy(g), w.cuGraphDestroy(g))[1])(
            w.graph()
        ),
        "cuMemFree_v2": lambda w: (lambda p: (w.cuMemFree_v2(p), w.cuMemFree_v2(p))[1])(
            w.driver.alloc(4096)
        ),
        "cuMemFreeAsync": lambda w: (lambda p: (w.cuMemFree_v2(p), w.cuMemFreeAsync(p, 0))[1])(
            w.driver.alloc(4096)
        ),
        "cuMemFreeHost": lambda w: (lambda p: (w.cuMemFreeHost(p), w.cuMemFreeHost(p))[1])(
            w.driver.pinned(4096)
        ),
        "cuCtxSetCurrent": lambda w: w.gone_context(lambda c: w.cuCtxSetCurrent(c)),
        "cuCtxDestroy_v2": lambda w: w.gone_context(lambda c: w.cuCtxDestroy_v2(c)),
        "cuCtxGetApiVersion": lambda w: w.gone_context(lambda c: w.cuCtxGetApiVersion(c, out())),
        "cuMemPoolDestroy": lambda w: (lambda p: (w.cuMemPoolDestroy(p), w.cuMemPoolDestroy(p))[1])(
            w.made("cuMemPoolCreate", w.pool_properties())
        ),
    },
    invented={
        "cuStreamQuery": lambda w: w.cuStreamQuery(0x1234000),
        "cuEventQuery": lambda w: w.cuEventQuery(0x1234000),
        "cuModuleUnload": lambda w: w.cuModuleUnload(0x1234000),
        "cuLaunchKernel": lambda w: w.launch(0x1234000),
        "cuCtxSetCurrent": lambda w: w.cuCtxSetCurrent(0x1234000),
        "cuGraphLaunch": lambda w: w.cuGraphLaunch(0x1234000, 0),
        "cuMemPoolDestroy": lambda w: w.cuMemPoolDestroy(0x1234000),
    },
    foreign={
        "an event as a stream": lambda w: w.cuStreamQuery(w.event),
        "a stream as an event": lambda w: w.cuEventQuery(w.stream),
        "a module as a function": lambda w: w.launch(w.module),
    },
)
