// csrc/dropin/nvrtc/nvrtc.cpp - a libnvrtc.so for programs on the CPU device: PTX in the place of a
// cubin.
//
// `cupola run` puts this library where a program looks for NVRTC, and names NVIDIA's in
// CUPOLA_RUN_NVRTC. Every call is forwarded to that one. Only the two that hand out a cubin differ:
// NVRTC makes PTX of each program that it makes a cubin of, and a driver loads either.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#define CUPOLA_NVRTC extern "C" __attribute__((visibility("default")))

namespace {

using Program = void*;
enum Result : int { success = 0, internal_error = 11 };  // nvrtcResult

// The library is opened once, at the first call, and never closed: a program may hold pointers that
// the library returned.
void* nvidia() {
    static void* const library = [] {
        const char* path = std::getenv("CUPOLA_RUN_NVRTC");
        void* opened = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
        if (!opened)
            std::fprintf(stderr, "cupola run: NVRTC can't be loaded: %s\n",
                         path && *path ? dlerror() : "CUPOLA_RUN_NVRTC is not set");
        return opened;
    }();
    return library;
}

void* symbol(const char* name) {
    void* const library = nvidia();
    void* const found = library ? dlsym(library, name) : nullptr;
    if (library && !found)
        std::fprintf(stderr, "cupola run: %s has no %s\n", std::getenv("CUPOLA_RUN_NVRTC"), name);
    return found;
}

template <class... Arguments>
Result forward(void* function, Arguments... arguments) {
    if (!function) return internal_error;
    return reinterpret_cast<Result (*)(Arguments...)>(function)(arguments...);
}

}  // namespace

// A name is looked up once, by the first caller.
#define CUPOLA_FORWARD(name, ...)                 \
    [&] {                                         \
        static void* const found = symbol(#name); \
        return forward(found, __VA_ARGS__);       \
    }()

CUPOLA_NVRTC const char* nvrtcGetErrorString(Result result) {
    static void* const found = symbol("nvrtcGetErrorString");
    if (!found) return "NVRTC can't be loaded";
    return reinterpret_cast<const char* (*)(Result)>(found)(result);
}

CUPOLA_NVRTC Result nvrtcVersion(int* major, int* minor) {
    return CUPOLA_FORWARD(nvrtcVersion, major, minor);
}

CUPOLA_NVRTC Result nvrtcGetNumSupportedArchs(int* count) {
    return CUPOLA_FORWARD(nvrtcGetNumSupportedArchs, count);
}

CUPOLA_NVRTC Result nvrtcGetSupportedArchs(int* architectures) {
    return CUPOLA_FORWARD(nvrtcGetSupportedArchs, architectures);
}

CUPOLA_NVRTC Result nvrtcCreateProgram(Program* program, const char* source, const char* name,
                                       int count, const char* const* headers,
                                       const char* const* names) {
    return CUPOLA_FORWARD(nvrtcCreateProgram, program, source, name, count, headers, names);
}

CUPOLA_NVRTC Result nvrtcDestroyProgram(Program* program) {
    return CUPOLA_FORWARD(nvrtcDestroyProgram, program);
}

CUPOLA_NVRTC Result nvrtcCompileProgram(Program program, int count, const char* const* options) {
    return CUPOLA_FORWARD(nvrtcCompileProgram, program, count, options);
}

CUPOLA_NVRTC Result nvrtcGetPTXSize(Program program, std::size_t* size) {
    return CUPOLA_FORWARD(nvrtcGetPTXSize, program, size);
}

CUPOLA_NVRTC Result nvrtcGetPTX(Program program, char* ptx) {
    return CUPOLA_FORWARD(nvrtcGetPTX, program, ptx);
}

// A size of 0 stays 0: a compilation for a virtual architecture, with -dlto or with --optix-ir
// makes no cubin.
CUPOLA_NVRTC Result nvrtcGetCUBINSize(Program program, std::size_t* size) {
    const Result result = CUPOLA_FORWARD(nvrtcGetCUBINSize, program, size);
    return result == success && size && *size ? nvrtcGetPTXSize(program, size) : result;
}

CUPOLA_NVRTC Result nvrtcGetCUBIN(Program program, char* cubin) {
    std::size_t size = 0;
    const Result result = CUPOLA_FORWARD(nvrtcGetCUBINSize, program, &size);
    if (result == success && size) return nvrtcGetPTX(program, cubin);
    return CUPOLA_FORWARD(nvrtcGetCUBIN, program, cubin);
}

CUPOLA_NVRTC Result nvrtcGetLTOIRSize(Program program, std::size_t* size) {
    return CUPOLA_FORWARD(nvrtcGetLTOIRSize, program, size);
}

CUPOLA_NVRTC Result nvrtcGetLTOIR(Program program, char* code) {
    return CUPOLA_FORWARD(nvrtcGetLTOIR, program, code);
}

CUPOLA_NVRTC Result nvrtcGetOptiXIRSize(Program program, std::size_t* size) {
    return CUPOLA_FORWARD(nvrtcGetOptiXIRSize, program, size);
}

CUPOLA_NVRTC Result nvrtcGetOptiXIR(Program program, char* code) {
    return CUPOLA_FORWARD(nvrtcGetOptiXIR, program, code);
}

// CUDA 12 has the next two, CUDA 13 the two behind them.
CUPOLA_NVRTC Result nvrtcGetNVVMSize(Program program, std::size_t* size) {
    return CUPOLA_FORWARD(nvrtcGetNVVMSize, program, size);
}

CUPOLA_NVRTC Result nvrtcGetNVVM(Program program, char* code) {
    return CUPOLA_FORWARD(nvrtcGetNVVM, program, code);
}

CUPOLA_NVRTC Result nvrtcGetTileIRSize(Program program, std::size_t* size) {
    return CUPOLA_FORWARD(nvrtcGetTileIRSize, program, size);
}

CUPOLA_NVRTC Result nvrtcGetTileIR(Program program, char* code) {
    return CUPOLA_FORWARD(nvrtcGetTileIR, program, code);
}

CUPOLA_NVRTC Result nvrtcGetProgramLogSize(Program program, std::size_t* size) {
    return CUPOLA_FORWARD(nvrtcGetProgramLogSize, program, size);
}

CUPOLA_NVRTC Result nvrtcGetProgramLog(Program program, char* log) {
    return CUPOLA_FORWARD(nvrtcGetProgramLog, program, log);
}

CUPOLA_NVRTC Result nvrtcAddNameExpression(Program program, const char* expression) {
    return CUPOLA_FORWARD(nvrtcAddNameExpression, program, expression);
}

CUPOLA_NVRTC Result nvrtcGetLoweredName(Program program, const char* expression,
                                        const char** name) {
    return CUPOLA_FORWARD(nvrtcGetLoweredName, program, expression, name);
}

CUPOLA_NVRTC Result nvrtcGetPCHHeapSize(std::size_t* size) {
    return CUPOLA_FORWARD(nvrtcGetPCHHeapSize, size);
}

CUPOLA_NVRTC Result nvrtcSetPCHHeapSize(std::size_t size) {
    return CUPOLA_FORWARD(nvrtcSetPCHHeapSize, size);
}

CUPOLA_NVRTC Result nvrtcGetPCHCreateStatus(Program program) {
    return CUPOLA_FORWARD(nvrtcGetPCHCreateStatus, program);
}

CUPOLA_NVRTC Result nvrtcGetPCHHeapSizeRequired(Program program, std::size_t* size) {
    return CUPOLA_FORWARD(nvrtcGetPCHHeapSizeRequired, program, size);
}

CUPOLA_NVRTC Result nvrtcSetFlowCallback(Program program, int (*callback)(void*, void*),
                                         void* payload) {
    return CUPOLA_FORWARD(nvrtcSetFlowCallback, program, callback, payload);
}
