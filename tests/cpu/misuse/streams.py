"""Misuse of streams, captures and events."""

from ctypes import byref, c_int

from driver_abi import *

from .world import NULL, cases, out, packed

cases(
    cuStreamCreate={
        "null": lambda w: w.cuStreamCreate(NULL, 0),
        "flags": lambda w: w.cuStreamCreate(out(), 0x100),
        "none": lambda w: w.without_context(lambda: w.cuStreamCreate(out(), 0)),
    },
    cuStreamCreateWithPriority={
        "null": lambda w: w.cuStreamCreateWithPriority(NULL, 0, 0),
        "flags": lambda w: w.cuStreamCreateWithPriority(out(), 0x100, 0),
        "too high a priority": lambda w: w.cuStreamCreateWithPriority(out(), 0, -99),
    },
    cuStreamDestroy_v2={
        "null": lambda w: w.cuStreamDestroy_v2(0),
        "legacy": lambda w: w.cuStreamDestroy_v2(1),
        "per thread": lambda w: w.cuStreamDestroy_v2(2),
    },
    cuStreamQuery={
        "none": lambda w: w.without_context(lambda: w.cuStreamQuery(0)),
        "in its capture": lambda w: w.capturing(lambda s: w.cuStreamQuery(s)),
        "legacy in a capture": lambda w: w.capturing(lambda s: w.cuStreamQuery(0)),
    },
    cuStreamSynchronize={
        "none": lambda w: w.without_context(lambda: w.cuStreamSynchronize(0)),
        "in its capture": lambda w: w.capturing(lambda s: w.cuStreamSynchronize(s)),
    },
    cuStreamWaitEvent={
        "null": lambda w: w.cuStreamWaitEvent(w.stream, 0, 0),
        "flags": lambda w: w.cuStreamWaitEvent(w.stream, w.event, 0x10),
        "never recorded": lambda w: w.cuStreamWaitEvent(w.stream, w.event, 0),
    },
    cuStreamAddCallback={
        "null": lambda w: w.cuStreamAddCallback(w.stream, NULL, NULL, 0),
        "flags": lambda w: w.cuStreamAddCallback(w.stream, Callback(lambda *_: None), NULL, 1),
    },
    cuLaunchHostFunc={"null": lambda w: w.cuLaunchHostFunc(w.stream, NULL, NULL)},
    cuStreamGetPriority={
        "null": lambda w: w.cuStreamGetPriority(w.stream, NULL),
        "none": lambda w: w.without_context(lambda: w.cuStreamGetPriority(0, out())),
    },
    cuStreamGetFlags={"null": lambda w: w.cuStreamGetFlags(w.stream, NULL)},
    cuStreamGetId={"null": lambda w: w.cuStreamGetId(w.stream, NULL)},
    cuStreamGetCtx={"null": lambda w: w.cuStreamGetCtx(w.stream, NULL)},
    cuStreamGetDevice={"null": lambda w: w.cuStreamGetDevice(w.stream, NULL)},
    cuStreamGetAttribute={
        "null": lambda w: w.cuStreamGetAttribute(w.stream, 3, NULL),
        "unknown": lambda w: w.cuStreamGetAttribute(w.stream, 99, out()),
        "not of a stream": lambda w: w.cuStreamGetAttribute(w.stream, 4, out()),
    },
    cuStreamSetAttribute={
        "null": lambda w: w.cuStreamSetAttribute(w.stream, 3, NULL),
        "unknown": lambda w: w.cuStreamSetAttribute(w.stream, 99, out()),
        "unknown way to wait": lambda w: w.cuStreamSetAttribute(w.stream, 3, packed("i60x", 99)),
        "not of a stream": lambda w: w.cuStreamSetAttribute(w.stream, 4, out()),
    },
    cuStreamCopyAttributes={
        "null": lambda w: w.cuStreamCopyAttributes(w.stream, 0),
        "itself": lambda w: w.cuStreamCopyAttributes(w.stream, w.stream),
    },
    cuStreamAttachMemAsync={
        "device memory": lambda w: w.cuStreamAttachMemAsync(w.stream, w.memory, 0, 4),
        "flags": lambda w: w.cuStreamAttachMemAsync(w.stream, w.managed, 0, 8),
        "legacy": lambda w: w.cuStreamAttachMemAsync(0, w.managed, 0, 4),
    },
    cuStreamWaitValue32_v2={
        "nowhere": lambda w: w.cuStreamWaitValue32_v2(w.stream, 0x1234000, 0, 1),
        "null": lambda w: w.cuStreamWaitValue32_v2(w.stream, 0, 0, 1),
        "unaligned": lambda w: w.cuStreamWaitValue32_v2(w.stream, w.memory + 2, 0, 1),
        "flags": lambda w: w.cuStreamWaitValue32_v2(w.stream, w.memory, 0, 0x100),
        "flush": lambda w: w.cuStreamWaitValue32_v2(w.stream, w.memory, 0, (1 << 30) | 0),
    },
    cuStreamWaitValue64_v2={
        "unaligned": lambda w: w.cuStreamWaitValue64_v2(w.stream, w.memory + 4, 0, 0),
        "nowhere": lambda w: w.cuStreamWaitValue64_v2(w.stream, 0x1234000, 0, 0),
    },
    cuStreamWriteValue32_v2={
        "nowhere": lambda w: w.cuStreamWriteValue32_v2(w.stream, 0x1234000, 0, 0),
        "unaligned": lambda w: w.cuStreamWriteValue32_v2(w.stream, w.memory + 2, 0, 0),
        "flags": lambda w: w.cuStreamWriteValue32_v2(w.stream, w.memory, 0, 0x100),
    },
    cuStreamWriteValue64_v2={
        "unaligned": lambda w: w.cuStreamWriteValue64_v2(w.stream, w.memory + 4, 0, 0),
    },
    cuStreamBatchMemOp_v2={
        "null": lambda w: w.cuStreamBatchMemOp_v2(w.stream, 1, NULL, 0),
        "none": lambda w: w.cuStreamBatchMemOp_v2(w.stream, 0, NULL, 0),
        "too many": lambda w: w.cuStreamBatchMemOp_v2(
            w.stream, 257, packed("iiQQIIQQ" * 257, *(2, 0, w.memory, 1, 0, 0, 0, 0) * 257), 0
        ),
        "flags": lambda w: w.cuStreamBatchMemOp_v2(
            w.stream, 1, packed("iiQQIIQQ", 2, 0, w.memory, 1, 0, 0, 0, 0), 1
        ),
        "unknown": lambda w: w.cuStreamBatchMemOp_v2(
            w.stream, 1, packed("iiQQIIQQ", 99, 0, w.memory, 1, 0, 0, 0, 0), 0
        ),
    },
    cuStreamBeginCapture_v2={
        "legacy": lambda w: w.cuStreamBeginCapture_v2(0, 0),
        "unknown mode": lambda w: w.cuStreamBeginCapture_v2(w.stream, 9),
        "twice": lambda w: w.capturing(lambda s: w.cuStreamBeginCapture_v2(s, 1)),
    },
    cuStreamEndCapture={
        "not begun": lambda w: w.cuStreamEndCapture(w.stream, out()),
        "null": lambda w: w.capturing(lambda s: w.cuStreamEndCapture(s, NULL)),
        "legacy": lambda w: w.cuStreamEndCapture(0, out()),
    },
    cuStreamIsCapturing={
        "null": lambda w: w.cuStreamIsCapturing(w.stream, NULL),
        "legacy in a capture": lambda w: w.capturing(lambda s: w.cuStreamIsCapturing(0, out())),
    },
    cuStreamBeginCaptureToGraph={
        "null": lambda w: w.cuStreamBeginCaptureToGraph(w.stream, 0, NULL, NULL, 0, 1),
        "legacy": lambda w: w.cuStreamBeginCaptureToGraph(0, w.graph(), NULL, NULL, 0, 1),
    },
    cuStreamUpdateCaptureDependencies={
        "not captured": lambda w: w.cuStreamUpdateCaptureDependencies(w.stream, NULL, 0, 1),
    },
    cuThreadExchangeStreamCaptureMode={
        "null": lambda w: w.cuThreadExchangeStreamCaptureMode(NULL),
        "unknown": lambda w: w.cuThreadExchangeStreamCaptureMode(byref(c_int(9))),
    },
    cuEventCreate={
        "null": lambda w: w.cuEventCreate(NULL, 0),
        "flags": lambda w: w.cuEventCreate(out(), 0x100),
        "for processes, with times": lambda w: w.cuEventCreate(out(), 4),
        "none": lambda w: w.without_context(lambda: w.cuEventCreate(out(), 0)),
    },
    cuEventDestroy_v2={"null": lambda w: w.cuEventDestroy_v2(0)},
    cuEventRecord={"null": lambda w: w.cuEventRecord(0, 0)},
    cuEventRecordWithFlags={"flags": lambda w: w.cuEventRecordWithFlags(w.event, w.stream, 0x10)},
    cuEventQuery={
        "null": lambda w: w.cuEventQuery(0),
        "never recorded": lambda w: w.cuEventQuery(w.event),
        "captured": lambda w: w.capturing(
            lambda s: (w.cuEventRecord(w.untimed, s), w.cuEventQuery(w.untimed))[1]
        ),
    },
    cuEventSynchronize={
        "null": lambda w: w.cuEventSynchronize(0),
        "never recorded": lambda w: w.cuEventSynchronize(w.event),
    },
    cuEventElapsedTime={
        "null": lambda w: w.cuEventElapsedTime(NULL, w.recorded, w.recorded),
        "null start": lambda w: w.cuEventElapsedTime(out(), 0, w.recorded),
        "never recorded": lambda w: w.cuEventElapsedTime(out(), w.recorded, w.event),
        "without times": lambda w: w.cuEventElapsedTime(out(), w.recorded, w.untimed),
    },
    cuEventElapsedTime_v2={
        "never recorded": lambda w: w.cuEventElapsedTime_v2(out(), w.recorded, w.event),
        "without times": lambda w: w.cuEventElapsedTime_v2(out(), w.recorded, w.untimed),
    },
)
