"""Misuse of devices and contexts."""

import os
from ctypes import byref, c_uint64

from driver_abi import *

from .world import NULL, cases, out

cases(
    cuInit={"flags": lambda w: w.cuInit(1)},
    cuDriverGetVersion={"null": lambda w: w.cuDriverGetVersion(NULL)},
    cuGetErrorName={
        "null": lambda w: w.cuGetErrorName(0, NULL),
        "unknown": lambda w: w.cuGetErrorName(12345, out()),
    },
    cuGetErrorString={"unknown": lambda w: w.cuGetErrorString(12345, out())},
    cuDeviceGet={
        "null": lambda w: w.cuDeviceGet(NULL, 0),
        "negative": lambda w: w.cuDeviceGet(out(), -1),
        "too large": lambda w: w.cuDeviceGet(out(), 99),
    },
    cuDeviceGetCount={"null": lambda w: w.cuDeviceGetCount(NULL)},
    cuDeviceGetName={
        "null": lambda w: w.cuDeviceGetName(NULL, 8, 0),
        "no room": lambda w: w.cuDeviceGetName(out(), 0, 0),
        "wrong device": lambda w: w.cuDeviceGetName(out(), 8, 99),
    },
    cuDeviceGetUuid_v2={
        "null": lambda w: w.cuDeviceGetUuid_v2(NULL, 0),
        "wrong device": lambda w: w.cuDeviceGetUuid_v2(out(), 99),
    },
    cuDeviceTotalMem_v2={
        "null": lambda w: w.cuDeviceTotalMem_v2(NULL, 0),
        "wrong device": lambda w: w.cuDeviceTotalMem_v2(out(), 99),
    },
    cuDeviceGetAttribute={
        "null": lambda w: w.cuDeviceGetAttribute(NULL, 1, 0),
        "zero": lambda w: w.cuDeviceGetAttribute(out(), 0, 0),
        "unknown": lambda w: w.cuDeviceGetAttribute(out(), 9999, 0),
        "wrong device": lambda w: w.cuDeviceGetAttribute(out(), 1, 99),
    },
    cuDeviceGetPCIBusId={"no room": lambda w: w.cuDeviceGetPCIBusId(out(), 0, 0)},
    cuDeviceGetByPCIBusId={
        "null": lambda w: w.cuDeviceGetByPCIBusId(out(), NULL),
        "no number": lambda w: w.cuDeviceGetByPCIBusId(out(), b"nowhere"),
        "no device there": lambda w: w.cuDeviceGetByPCIBusId(out(), b"0000:ff:1f.0"),
    },
    cuDeviceCanAccessPeer={
        "null": lambda w: w.cuDeviceCanAccessPeer(NULL, 0, 0),
        "itself": lambda w: w.cuDeviceCanAccessPeer(out(), 0, 0),
        "wrong device": lambda w: w.cuDeviceCanAccessPeer(out(), 0, 99),
    },
    cuDeviceGetP2PAttribute={
        "itself": lambda w: w.cuDeviceGetP2PAttribute(out(), 1, 0, 0),
        "wrong device": lambda w: w.cuDeviceGetP2PAttribute(out(), 1, 0, 99),
        "unknown": lambda w: w.cuDeviceGetP2PAttribute(out(), 99, 0, 0),
    },
    cuDeviceGetExecAffinitySupport={
        "null": lambda w: w.cuDeviceGetExecAffinitySupport(NULL, 0, 0),
        "unknown": lambda w: w.cuDeviceGetExecAffinitySupport(out(), 9, 0),
        "wrong device": lambda w: w.cuDeviceGetExecAffinitySupport(out(), 0, 99),
    },
    cuDeviceGetGraphMemAttribute={
        "null": lambda w: w.cuDeviceGetGraphMemAttribute(0, 0, NULL),
        "unknown": lambda w: w.cuDeviceGetGraphMemAttribute(0, 9, out()),
        "wrong device": lambda w: w.cuDeviceGetGraphMemAttribute(99, 0, out()),
    },
    cuDeviceSetGraphMemAttribute={
        "of what is used": lambda w: w.cuDeviceSetGraphMemAttribute(0, 0, byref(c_uint64())),
        "a high mark that is not zero": lambda w: w.cuDeviceSetGraphMemAttribute(
            0, 1, byref(c_uint64(5))
        ),
        "null": lambda w: w.cuDeviceSetGraphMemAttribute(0, 1, NULL),
    },
    cuDeviceGraphMemTrim={"wrong device": lambda w: w.cuDeviceGraphMemTrim(99)},
    cuDevicePrimaryCtxRetain={
        "null": lambda w: w.cuDevicePrimaryCtxRetain(NULL, 0),
        "wrong device": lambda w: w.cuDevicePrimaryCtxRetain(out(), 99),
    },
    cuDevicePrimaryCtxRelease_v2={"wrong device": lambda w: w.cuDevicePrimaryCtxRelease_v2(99)},
    cuDevicePrimaryCtxSetFlags_v2={
        "unknown": lambda w: w.cuDevicePrimaryCtxSetFlags_v2(0, 0x10000),
        "wrong device": lambda w: w.cuDevicePrimaryCtxSetFlags_v2(99, 0),
    },
    cuDevicePrimaryCtxGetState={
        "null flags": lambda w: w.cuDevicePrimaryCtxGetState(0, NULL, out()),
        "null active": lambda w: w.cuDevicePrimaryCtxGetState(0, out(), NULL),
    },
)

# No process has this number: Linux gives at most 2^22.
NOBODY = 999999999

cases(
    cuCheckpointProcessGetState={
        "null": lambda w: w.cuCheckpointProcessGetState(os.getpid(), NULL),
        "itself": lambda w: w.cuCheckpointProcessGetState(os.getpid(), out()),
        "no process": lambda w: w.cuCheckpointProcessGetState(NOBODY, out()),
        "zero": lambda w: w.cuCheckpointProcessGetState(0, out()),
    },
    cuCheckpointProcessGetRestoreThreadId={
        "null": lambda w: w.cuCheckpointProcessGetRestoreThreadId(os.getpid(), NULL),
        "zero": lambda w: w.cuCheckpointProcessGetRestoreThreadId(0, out()),
    },
    cuCheckpointProcessLock={
        "no process": lambda w: w.cuCheckpointProcessLock(NOBODY, NULL),
        "zero": lambda w: w.cuCheckpointProcessLock(0, NULL),
        "negative": lambda w: w.cuCheckpointProcessLock(-1, NULL),
    },
    cuCheckpointProcessCheckpoint={
        "not locked": lambda w: w.cuCheckpointProcessCheckpoint(os.getpid(), NULL),
    },
    cuCheckpointProcessRestore={
        "not locked": lambda w: w.cuCheckpointProcessRestore(os.getpid(), NULL),
    },
    cuCheckpointProcessUnlock={
        "not locked": lambda w: w.cuCheckpointProcessUnlock(os.getpid(), NULL),
    },
)

cases(
    cuCtxCreate_v2={
        "null": lambda w: w.cuCtxCreate_v2(NULL, 0, 0),
        "unknown flags": lambda w: w.cuCtxCreate_v2(out(), 0x10000, 0),
        "two ways to wait": lambda w: w.cuCtxCreate_v2(out(), 3, 0),
        "wrong device": lambda w: w.cuCtxCreate_v2(out(), 0, 99),
    },
    cuCtxCreate_v4={
        "null": lambda w: w.cuCtxCreate_v4(NULL, NULL, 0, 0),
        "wrong device": lambda w: w.cuCtxCreate_v4(out(), NULL, 0, 99),
    },
    cuCtxDestroy_v2={
        "null": lambda w: w.cuCtxDestroy_v2(0),
        "primary": lambda w: w.cuCtxDestroy_v2(w.context),
    },
    cuCtxPushCurrent_v2={"null": lambda w: w.cuCtxPushCurrent_v2(0)},
    cuCtxPopCurrent_v2={
        "null": lambda w: (w.cuCtxPushCurrent_v2(w.context), w.cuCtxPopCurrent_v2(NULL))[1],
        "none": lambda w: w.without_context(lambda: w.cuCtxPopCurrent_v2(out())),
    },
    cuCtxGetCurrent={"null": lambda w: w.cuCtxGetCurrent(NULL)},
    cuCtxGetDevice={
        "null": lambda w: w.cuCtxGetDevice(NULL),
        "none": lambda w: w.without_context(lambda: w.cuCtxGetDevice(out())),
    },
    cuCtxGetFlags={
        "null": lambda w: w.cuCtxGetFlags(NULL),
        "none": lambda w: w.without_context(lambda: w.cuCtxGetFlags(out())),
    },
    cuCtxSetFlags={"unknown": lambda w: w.cuCtxSetFlags(0x10000)},
    cuCtxGetId={
        "null": lambda w: w.cuCtxGetId(0, NULL),
        "none": lambda w: w.without_context(lambda: w.cuCtxGetId(0, out())),
    },
    cuCtxGetApiVersion={
        "null": lambda w: w.cuCtxGetApiVersion(w.context, NULL),
        "none": lambda w: w.without_context(lambda: w.cuCtxGetApiVersion(0, out())),
    },
    cuCtxSynchronize={
        "none": lambda w: w.without_context(lambda: w.cuCtxSynchronize()),
        "in a capture": lambda w: w.capturing(lambda s: w.cuCtxSynchronize()),
    },
    cuCtxGetLimit={
        "null": lambda w: w.cuCtxGetLimit(NULL, 0),
        "unknown": lambda w: w.cuCtxGetLimit(out(), 99),
        "none": lambda w: w.without_context(lambda: w.cuCtxGetLimit(out(), 0)),
    },
    cuCtxSetLimit={
        "unknown": lambda w: w.cuCtxSetLimit(99, 1),
        "a stack too large": lambda w: w.cuCtxSetLimit(0, 1 << 40),
        "none": lambda w: w.without_context(lambda: w.cuCtxSetLimit(0, 1024)),
    },
    cuCtxGetCacheConfig={
        "null": lambda w: w.cuCtxGetCacheConfig(NULL),
        "none": lambda w: w.without_context(lambda: w.cuCtxGetCacheConfig(out())),
    },
    cuCtxSetCacheConfig={"unknown": lambda w: w.cuCtxSetCacheConfig(99)},
    cuCtxGetSharedMemConfig={"null": lambda w: w.cuCtxGetSharedMemConfig(NULL)},
    cuCtxSetSharedMemConfig={"unknown": lambda w: w.cuCtxSetSharedMemConfig(99)},
    cuCtxGetStreamPriorityRange={
        "null": lambda w: w.cuCtxGetStreamPriorityRange(NULL, NULL),
        "none": lambda w: w.without_context(lambda: w.cuCtxGetStreamPriorityRange(out(), out())),
    },
    cuCtxEnablePeerAccess={
        "null": lambda w: w.cuCtxEnablePeerAccess(0, 0),
        "flags": lambda w: w.cuCtxEnablePeerAccess(w.context, 1),
        "itself": lambda w: w.cuCtxEnablePeerAccess(w.context, 0),
    },
    cuCtxDisablePeerAccess={
        "null": lambda w: w.cuCtxDisablePeerAccess(0),
        "itself": lambda w: w.cuCtxDisablePeerAccess(w.context),
    },
    cuCtxGetExecAffinity={
        "null": lambda w: w.cuCtxGetExecAffinity(NULL, 0),
        "unknown": lambda w: w.cuCtxGetExecAffinity(out(), 9),
    },
    cuCtxAttach={
        "null": lambda w: w.cuCtxAttach(NULL, 0),
        "flags": lambda w: w.cuCtxAttach(out(), 1),
    },
    cuCtxDetach={"null": lambda w: w.cuCtxDetach(0)},
    cuCtxRecordEvent={
        "null": lambda w: w.cuCtxRecordEvent(w.context, 0),
        "the primary": lambda w: w.cuCtxRecordEvent(w.context, w.event),
    },
)
