"""Misuse of reserved addresses and pieces of memory."""

import os
from ctypes import c_uint64, c_void_p

from driver_abi import *

from .world import NULL, cases, out, packed

cases(
    cuMemGetAllocationGranularity={
        "null": lambda w: w.cuMemGetAllocationGranularity(NULL, w.piece(), 0),
        "no properties": lambda w: w.cuMemGetAllocationGranularity(out(), NULL, 0),
        "unknown": lambda w: w.cuMemGetAllocationGranularity(out(), w.piece(), 9),
        "kind 0": lambda w: w.cuMemGetAllocationGranularity(out(), w.piece(kind=0), 0),
        "wrong device": lambda w: w.cuMemGetAllocationGranularity(
            out(), w.piece(location=(1, 99)), 0
        ),
        "no location": lambda w: w.cuMemGetAllocationGranularity(
            out(), w.piece(location=(0, 0)), 0
        ),
    },
    cuMemCreate={
        "null": lambda w: w.cuMemCreate(NULL, w.granularity, w.piece(), 0),
        "no properties": lambda w: w.cuMemCreate(out(), w.granularity, NULL, 0),
        "nothing": lambda w: w.cuMemCreate(out(), 0, w.piece(), 0),
        "uneven": lambda w: w.cuMemCreate(out(), 4096 + 7, w.piece(), 0),
        "flags": lambda w: w.cuMemCreate(out(), w.granularity, w.piece(), 1),
        "kind 0": lambda w: w.cuMemCreate(out(), w.granularity, w.piece(kind=0), 0),
        "unknown handles": lambda w: w.cuMemCreate(out(), w.granularity, w.piece(handles=64), 0),
        "windows handles": lambda w: w.cuMemCreate(out(), w.granularity, w.piece(handles=2), 0),
        "wrong device": lambda w: w.cuMemCreate(out(), w.granularity, w.piece(location=(1, 99)), 0),
        "too much": lambda w: w.cuMemCreate(out(), 1 << 50, w.piece(), 0),
        "none": lambda w: w.without_context(
            lambda: w.cuMemCreate(out(), w.granularity, w.piece(), 0)
        ),
    },
    cuMemRelease={
        "null": lambda w: w.cuMemRelease(0),
        "no handle": lambda w: w.cuMemRelease(0x1234000),
        "twice": lambda w: (lambda h: (w.cuMemRelease(h), w.cuMemRelease(h))[1])(
            w.made("cuMemCreate", w.granularity, w.piece(), 0, kind=c_uint64)
        ),
    },
    cuMemAddressReserve={
        "null": lambda w: w.cuMemAddressReserve(NULL, w.granularity, 0, 0, 0),
        "nothing": lambda w: w.cuMemAddressReserve(out(), 0, 0, 0, 0),
        "uneven": lambda w: w.cuMemAddressReserve(out(), 4096 + 7, 0, 0, 0),
        "one page": lambda w: w.cuMemAddressReserve(out(), 4096, 0, 0, 0),
        "alignment of 3": lambda w: w.cuMemAddressReserve(out(), w.granularity, 3, 0, 0),
        "flags": lambda w: w.cuMemAddressReserve(out(), w.granularity, 0, 0, 1),
        "too much": lambda w: w.cuMemAddressReserve(out(), 1 << 60, 0, 0, 0),
        "none": lambda w: w.without_context(
            lambda: w.cuMemAddressReserve(out(), w.granularity, 0, 0, 0)
        ),
    },
    cuMemAddressFree={
        "null": lambda w: w.cuMemAddressFree(0, w.granularity),
        "nowhere": lambda w: w.cuMemAddressFree(0x1234000, w.granularity),
        "a part": lambda w: w.cuMemAddressFree(w.reserved, w.granularity),
        "inside": lambda w: w.cuMemAddressFree(w.reserved + w.granularity, w.granularity),
        "nothing": lambda w: w.cuMemAddressFree(w.reserved, 0),
        "while mapped": lambda w: w.cuMemAddressFree(w.mapped, 4 * w.granularity),
        "device memory": lambda w: w.cuMemAddressFree(w.memory, 4096),
    },
    cuMemMap={
        "null": lambda w: w.cuMemMap(0, w.granularity, 0, w.handle, 0),
        "nowhere": lambda w: w.cuMemMap(1 << 40, w.granularity, 0, w.handle, 0),
        "no handle": lambda w: w.cuMemMap(w.reserved, w.granularity, 0, 0x1234000, 0),
        "null handle": lambda w: w.cuMemMap(w.reserved, w.granularity, 0, 0, 0),
        "nothing": lambda w: w.cuMemMap(w.reserved, 0, 0, w.handle, 0),
        "uneven": lambda w: w.cuMemMap(w.reserved, 4096 + 7, 0, w.handle, 0),
        "more than there is": lambda w: w.cuMemMap(w.reserved, 2 * w.granularity, 0, w.handle, 0),
        "beyond what is reserved": lambda w: w.cuMemMap(
            w.reserved + 4 * w.granularity, w.granularity, 0, w.handle, 0
        ),
        "an offset": lambda w: w.cuMemMap(w.reserved, w.granularity, w.granularity, w.handle, 0),
        "flags": lambda w: w.cuMemMap(w.reserved, w.granularity, 0, w.handle, 1),
        "what is mapped": lambda w: w.cuMemMap(w.mapped, w.granularity, 0, w.handle, 0),
        "in between": lambda w: w.cuMemMap(w.reserved + 4096, w.granularity, 0, w.handle, 0),
    },
    cuMemSetAccess={
        "null": lambda w: w.cuMemSetAccess(0, w.granularity, w.access(), 1),
        "not mapped": lambda w: w.cuMemSetAccess(w.reserved, w.granularity, w.access(), 1),
        "partly mapped": lambda w: w.cuMemSetAccess(w.mapped, 2 * w.granularity, w.access(), 1),
        "a part of a mapping": lambda w: w.cuMemSetAccess(w.mapped, 4096, w.access(), 1),
        "no descriptors": lambda w: w.cuMemSetAccess(w.mapped, w.granularity, NULL, 1),
        "none": lambda w: w.cuMemSetAccess(w.mapped, w.granularity, w.access(), 0),
        "nothing": lambda w: w.cuMemSetAccess(w.mapped, 0, w.access(), 1),
        "wrong device": lambda w: w.cuMemSetAccess(w.mapped, w.granularity, w.access((1, 99)), 1),
        "unknown flags": lambda w: w.cuMemSetAccess(w.mapped, w.granularity, w.access(flags=9), 1),
        "write alone": lambda w: w.cuMemSetAccess(w.mapped, w.granularity, w.access(flags=2), 1),
        "device memory": lambda w: w.cuMemSetAccess(w.memory, 4096, w.access(), 1),
    },
    cuMemGetAccess={
        "null": lambda w: w.cuMemGetAccess(NULL, packed("ii", 1, 0), w.mapped),
        "not mapped": lambda w: w.cuMemGetAccess(out(), packed("ii", 1, 0), w.reserved),
        "wrong device": lambda w: w.cuMemGetAccess(out(), packed("ii", 1, 99), w.mapped),
        "null location": lambda w: w.cuMemGetAccess(out(), NULL, w.mapped),
        "device memory": lambda w: w.cuMemGetAccess(out(), packed("ii", 1, 0), w.memory),
    },
    cuMemUnmap={
        "null": lambda w: w.cuMemUnmap(0, w.granularity),
        "not mapped": lambda w: w.cuMemUnmap(w.reserved, w.granularity),
        "a part of a mapping": lambda w: w.cuMemUnmap(w.mapped, 4096),
        "more than is mapped": lambda w: w.cuMemUnmap(w.mapped, 2 * w.granularity),
        "nothing": lambda w: w.cuMemUnmap(w.mapped, 0),
        "device memory": lambda w: w.cuMemUnmap(w.memory, 4096),
    },
    cuMemExportToShareableHandle={
        "null": lambda w: w.cuMemExportToShareableHandle(NULL, w.handle, 1, 0),
        "not for it": lambda w: w.cuMemExportToShareableHandle(out(), w.handle, 1, 0),
        "no handle": lambda w: w.cuMemExportToShareableHandle(out(), 0x1234000, 1, 0),
        "flags": lambda w: w.cuMemExportToShareableHandle(out(), w.handle, 1, 1),
    },
    cuMemImportFromShareableHandle={
        "null": lambda w: w.cuMemImportFromShareableHandle(NULL, c_void_p(0), 1),
        "no descriptor": lambda w: w.cuMemImportFromShareableHandle(out(), c_void_p(99999), 1),
        "another file": lambda w: w.cuMemImportFromShareableHandle(
            out(), c_void_p(os.open("/dev/null", os.O_RDONLY)), 1
        ),
        "unknown kind": lambda w: w.cuMemImportFromShareableHandle(out(), c_void_p(0), 64),
    },
    cuMemGetAllocationPropertiesFromHandle={
        "null": lambda w: w.cuMemGetAllocationPropertiesFromHandle(NULL, w.handle),
        "no handle": lambda w: w.cuMemGetAllocationPropertiesFromHandle(out(), 0x1234000),
    },
    cuMemRetainAllocationHandle={
        "null": lambda w: w.cuMemRetainAllocationHandle(NULL, w.mapped),
        "not mapped": lambda w: w.cuMemRetainAllocationHandle(out(), w.reserved),
        "device memory": lambda w: w.cuMemRetainAllocationHandle(out(), w.memory),
        "null address": lambda w: w.cuMemRetainAllocationHandle(out(), NULL),
    },
    cuMemcpyDtoD_v2_of_mappings={
        "without access": lambda w: w.cuMemcpyDtoD_v2(w.memory, w.mapped, 16),
    },
)
