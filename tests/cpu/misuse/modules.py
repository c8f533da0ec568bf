"""Misuse of modules, functions and launches."""

from ctypes import byref, c_int, c_size_t, c_void_p

from driver_abi import *

from .world import NULL, cases, out

cases(
    cuModuleLoadData={
        "null": lambda w: w.cuModuleLoadData(NULL, PTX),
        "no image": lambda w: w.cuModuleLoadData(out(), NULL),
        "no text": lambda w: w.cuModuleLoadData(out(), b""),
        "nonsense": lambda w: w.cuModuleLoadData(out(), b"nonsense"),
        "a fault in the text": lambda w: w.cuModuleLoadData(
            out(), PTX.replace(b"ret;", b"tea;", 1)
        ),
        "a version to come": lambda w: w.cuModuleLoadData(
            out(), PTX.replace(b".version 6.3", b".version 99.0")
        ),
        "none": lambda w: w.without_context(lambda: w.cuModuleLoadData(out(), PTX)),
    },
    cuModuleLoadDataEx={
        "unknown option": lambda w: w.cuModuleLoadDataEx(
            out(), PTX, 1, byref(c_int(999)), byref(c_void_p())
        ),
        "no options": lambda w: w.cuModuleLoadDataEx(out(), PTX, 1, NULL, NULL),
    },
    cuModuleLoad={
        "null": lambda w: w.cuModuleLoad(out(), NULL),
        "no file": lambda w: w.cuModuleLoad(out(), b"/nowhere/to/be.found"),
        "a folder": lambda w: w.cuModuleLoad(out(), b"/"),
    },
    cuModuleUnload={"null": lambda w: w.cuModuleUnload(0)},
    cuModuleGetFunction={
        "null": lambda w: w.cuModuleGetFunction(NULL, w.module, b"empty"),
        "null module": lambda w: w.cuModuleGetFunction(out(), 0, b"empty"),
        "null name": lambda w: w.cuModuleGetFunction(out(), w.module, NULL),
        "no such": lambda w: w.cuModuleGetFunction(out(), w.module, b"nothing"),
        "no name": lambda w: w.cuModuleGetFunction(out(), w.module, b""),
    },
    cuModuleGetGlobal_v2={
        "no such": lambda w: w.cuModuleGetGlobal_v2(out(), out(), w.module, b"nothing"),
        "null": lambda w: w.cuModuleGetGlobal_v2(NULL, NULL, w.module, b"table"),
        "null name": lambda w: w.cuModuleGetGlobal_v2(out(), out(), w.module, NULL),
        "null module": lambda w: w.cuModuleGetGlobal_v2(out(), out(), 0, b"table"),
    },
    cuModuleGetFunctionCount={
        "null": lambda w: w.cuModuleGetFunctionCount(NULL, w.module),
        "null module": lambda w: w.cuModuleGetFunctionCount(out(), 0),
    },
    cuModuleEnumerateFunctions={
        "null": lambda w: w.cuModuleEnumerateFunctions(NULL, 1, w.module),
        "none": lambda w: w.cuModuleEnumerateFunctions(out(), 0, w.module),
    },
    cuModuleGetLoadingMode={"null": lambda w: w.cuModuleGetLoadingMode(NULL)},
    cuLinkCreate_v2={
        "null": lambda w: w.cuLinkCreate_v2(0, NULL, NULL, NULL),
        "none": lambda w: w.without_context(lambda: w.cuLinkCreate_v2(0, NULL, NULL, out())),
    },
    cuLinkAddData_v2={
        "nonsense": lambda w: w.cuLinkAddData_v2(
            w.made_link(), 1, b"nonsense", 9, b"name", 0, NULL, NULL
        ),
        "unknown kind": lambda w: w.cuLinkAddData_v2(
            w.made_link(), 99, PTX, len(PTX), b"name", 0, NULL, NULL
        ),
        "nothing": lambda w: w.cuLinkAddData_v2(w.made_link(), 1, PTX, 0, b"name", 0, NULL, NULL),
    },
    cuLinkAddFile_v2={
        "no file": lambda w: w.cuLinkAddFile_v2(
            w.made_link(), 1, b"/nowhere/to/be.found", 0, NULL, NULL
        ),
    },
    cuLinkComplete={
        "nothing added": lambda w: w.cuLinkComplete(w.made_link(), out(), out()),
        "null": lambda w: w.cuLinkComplete(w.made_link(), NULL, NULL),
    },
    cuLibraryLoadData={
        "null": lambda w: w.cuLibraryLoadData(NULL, PTX, NULL, NULL, 0, NULL, NULL, 0),
        "no image": lambda w: w.cuLibraryLoadData(out(), NULL, NULL, NULL, 0, NULL, NULL, 0),
        "nonsense": lambda w: w.cuLibraryLoadData(out(), b"nonsense", NULL, NULL, 0, NULL, NULL, 0),
        "without a context": lambda w: w.without_context(
            lambda: w.cuLibraryLoadData(out(), PTX, NULL, NULL, 0, NULL, NULL, 0)
        ),
    },
    cuLibraryLoadFromFile={
        "no file": lambda w: w.cuLibraryLoadFromFile(
            out(), b"/nowhere/to/be.found", NULL, NULL, 0, NULL, NULL, 0
        ),
    },
    cuLibraryGetKernel={
        "no such": lambda w: w.cuLibraryGetKernel(out(), w.library, b"nothing"),
        "null": lambda w: w.cuLibraryGetKernel(NULL, w.library, b"empty"),
        "null name": lambda w: w.cuLibraryGetKernel(out(), w.library, NULL),
    },
    cuLibraryGetGlobal={
        "no such": lambda w: w.cuLibraryGetGlobal(out(), out(), w.library, b"nothing"),
    },
    cuLibraryGetManaged={
        "no such": lambda w: w.cuLibraryGetManaged(out(), out(), w.library, b"table"),
    },
    cuLibraryGetUnifiedFunction={
        "no such": lambda w: w.cuLibraryGetUnifiedFunction(out(), w.library, b"nothing"),
        "of a kernel": lambda w: w.cuLibraryGetUnifiedFunction(out(), w.library, b"empty"),
    },
    cuKernelGetFunction={"null": lambda w: w.cuKernelGetFunction(NULL, 0)},
    cuFuncGetAttribute={
        "null": lambda w: w.cuFuncGetAttribute(NULL, 0, w.function),
        "unknown": lambda w: w.cuFuncGetAttribute(out(), 99, w.function),
        "null function": lambda w: w.cuFuncGetAttribute(out(), 0, 0),
    },
    cuFuncSetAttribute={
        "not to be set": lambda w: w.cuFuncSetAttribute(w.function, 0, 1),
        "unknown": lambda w: w.cuFuncSetAttribute(w.function, 99, 1),
        "too much shared memory": lambda w: w.cuFuncSetAttribute(w.function, 8, 1 << 20),
        "negative shared memory": lambda w: w.cuFuncSetAttribute(w.function, 8, -1),
        "carveout of 101": lambda w: w.cuFuncSetAttribute(w.function, 9, 101),
        "carveout of -2": lambda w: w.cuFuncSetAttribute(w.function, 9, -2),
        "cluster width -1": lambda w: w.cuFuncSetAttribute(w.function, 11, -1),
        "cluster rank of kernels": lambda w: w.cuFuncSetAttribute(w.function, 10, 1),
        "null function": lambda w: w.cuFuncSetAttribute(0, 8, 0),
    },
    cuFuncSetCacheConfig={
        "unknown": lambda w: w.cuFuncSetCacheConfig(w.function, 99),
        "null function": lambda w: w.cuFuncSetCacheConfig(0, 0),
    },
    cuFuncSetSharedMemConfig={"unknown": lambda w: w.cuFuncSetSharedMemConfig(w.function, 99)},
    cuFuncGetModule={
        "null": lambda w: w.cuFuncGetModule(NULL, w.function),
        "null function": lambda w: w.cuFuncGetModule(out(), 0),
    },
    cuFuncGetName={
        "null": lambda w: w.cuFuncGetName(NULL, w.function),
        "null function": lambda w: w.cuFuncGetName(out(), 0),
    },
    cuKernelGetName={
        "null kernel": lambda w: w.cuKernelGetName(out(), 0),
    },
    cuKernelGetLibrary={
        "null kernel": lambda w: w.cuKernelGetLibrary(out(), 0),
    },
    cuKernelGetParamInfo={
        "null kernel": lambda w: w.cuKernelGetParamInfo(0, 0, out(), out()),
        "without a context": lambda w: (
            lambda kernel: w.without_context(
                lambda: w.cuKernelGetParamInfo(kernel, 0, out(), out())
            )
        )(w.made("cuLibraryGetKernel", w.library, b"add1")),
    },
    cuFuncGetParamInfo={
        "null function": lambda w: w.cuFuncGetParamInfo(0, 0, out(), out()),
        "beyond": lambda w: w.cuFuncGetParamInfo(w.function, 0, out(), out()),
        "null": lambda w: w.cuFuncGetParamInfo(w.driver.function(w.module, "add1"), 0, NULL, NULL),
    },
    cuFuncLoad={"null": lambda w: w.cuFuncLoad(0)},
    cuFuncIsLoaded={"null": lambda w: w.cuFuncIsLoaded(NULL, w.function)},
    cuLaunchKernel={
        "null function": lambda w: w.launch(0),
        "no grid": lambda w: w.launch(grid=(0, 1, 1)),
        "no block": lambda w: w.launch(block=(1, 0, 1)),
        "grid too large": lambda w: w.launch(grid=(1, 65536, 1)),
        "block too large": lambda w: w.launch(block=(2048, 1, 1)),
        "block too deep": lambda w: w.launch(block=(1, 1, 65)),
        "too many threads": lambda w: w.launch(block=(64, 32, 1)),
        "too much shared memory": lambda w: w.launch(shared=1 << 20),
        "shared memory not asked for": lambda w: w.launch(shared=50 << 10),
        "parameters missing": lambda w: w.launch(w.driver.function(w.module, "add1")),
        "none": lambda w: w.without_context(lambda: w.launch()),
        "legacy in a capture": lambda w: w.capturing(lambda s: w.launch(), 0),
    },
    cuLaunchKernelEx={
        "null": lambda w: w.cuLaunchKernelEx(NULL, w.function, NULL, NULL),
    },
    cuLaunchCooperativeKernel={
        "too large a grid": lambda w: w.cuLaunchCooperativeKernel(
            w.function, 1 << 20, 1, 1, 32, 1, 1, 0, 0, NULL
        ),
        "null function": lambda w: w.cuLaunchCooperativeKernel(0, 1, 1, 1, 1, 1, 1, 0, 0, NULL),
    },
    cuOccupancyMaxActiveBlocksPerMultiprocessor={
        "null": lambda w: w.cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, w.function, 32, 0),
        "no block": lambda w: w.cuOccupancyMaxActiveBlocksPerMultiprocessor(
            out(), w.function, 0, 0
        ),
        "negative block": lambda w: w.cuOccupancyMaxActiveBlocksPerMultiprocessor(
            out(), w.function, -32, 0
        ),
        "block too large": lambda w: w.cuOccupancyMaxActiveBlocksPerMultiprocessor(
            out(), w.function, 4096, 0
        ),
        "null function": lambda w: w.cuOccupancyMaxActiveBlocksPerMultiprocessor(out(), 0, 32, 0),
    },
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags={
        "flags": lambda w: w.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            out(), w.function, 32, 0, 8
        ),
    },
    cuOccupancyMaxPotentialBlockSize={
        "null": lambda w: w.cuOccupancyMaxPotentialBlockSize(NULL, NULL, w.function, NULL, 0, 0),
        "null function": lambda w: w.cuOccupancyMaxPotentialBlockSize(out(), out(), 0, NULL, 0, 0),
    },
    cuOccupancyAvailableDynamicSMemPerBlock={
        "null": lambda w: w.cuOccupancyAvailableDynamicSMemPerBlock(NULL, w.function, 1, 32),
        "no blocks": lambda w: w.cuOccupancyAvailableDynamicSMemPerBlock(
            out(c_size_t), w.function, 0, 32
        ),
        "no threads": lambda w: w.cuOccupancyAvailableDynamicSMemPerBlock(
            out(c_size_t), w.function, 1, 0
        ),
    },
)
