// csrc/dropin/nvrtc/nvrtc.cpp - a libnvrtc.so in front of NVIDIA's: PTX in the place of a cubin, or
// beside it.
//
// `cupola run` and `cupola record` put this library where a program looks for NVRTC, and every call
// is forwarded to NVIDIA's. Only the two that hand out a cubin differ: NVRTC makes PTX of each
// program that it makes a cubin of. Where CUPOLA_RUN_NVRTC names NVIDIA's library, the program runs
// on the CPU device and gets PTX, which a driver loads, too. Where CUPOLA_RECORD_NVRTC names the
// library, the program gets its cubin, and both are written for the replay.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "dropin/nvrtc/kept.hpp"

#define CUPOLA_NVRTC extern "C" __attribute__((visibility("default")))

namespace {

using Program = void*;
enum Result : int { success = 0, internal_error = 11 };  // nvrtcResult

// The value of a variable; null where the variable is unset or empty.
const char* value_of(const char* variable) {
    const char* found = std::getenv(variable);
    return found && *found ? found : nullptr;
}

bool runs_on_cpu() { return value_of("CUPOLA_RUN_NVRTC"); }

// NVIDIA's library.
const char* path() {
    return runs_on_cpu() ? value_of("CUPOLA_RUN_NVRTC") : value_of("CUPOLA_RECORD_NVRTC");
}

// The library is opened once, at the first call, and never closed: a program may hold pointers that
// the library returned.
void* nvidia() {
    static void* const library = [] {
        void* opened = path() ? dlopen(path(), RTLD_NOW | RTLD_LOCAL) : nullptr;
        if (!opened)
            std::fprintf(
                stderr, "cupola: NVRTC can't be loaded: %s\n",
                path() ? dlerror() : "neither CUPOLA_RUN_NVRTC nor CUPOLA_RECORD_NVRTC is set");
        return opened;
    }();
    return library;
}

void* symbol(const char* name) {
    void* const library = nvidia();
    void* const found = library ? dlsym(library, name) : nullptr;
    if (library && !found) std::fprintf(stderr, "cupola: %s has no %s\n", path(), name);
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
    const bool replaced = result == success && size && *size && runs_on_cpu();
    return replaced ? nvrtcGetPTXSize(program, size) : result;
}

CUPOLA_NVRTC Result nvrtcGetCUBIN(Program program, char* cubin) {
    std::size_t size = 0;
    const Result result = CUPOLA_FORWARD(nvrtcGetCUBINSize, program, &size);
    if (result == success && size && runs_on_cpu()) return nvrtcGetPTX(program, cubin);
    const Result made = CUPOLA_FORWARD(nvrtcGetCUBIN, program, cubin);
    if (made != success || !size) return made;
    std::size_t length = 0;
    if (nvrtcGetPTXSize(program, &length) != success || length < 2) return made;
    std::string ptx(length, '\0');
    if (nvrtcGetPTX(program, ptx.data()) != success) return made;
    ptx.resize(length - 1);  // without the NUL
    cupola::nvrtc::keep({cubin, size}, ptx);
    return made;
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
