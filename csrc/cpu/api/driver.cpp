// csrc/cpu/api/driver.cpp - cu* entry points: initialisation, version, errors, symbols, profiler.
#include "cpu/driver.hpp"

#include <memory>
#include <string>
#include <vector>

#include "cpu/context.hpp"
#include "cpu/error_names.hpp"
#include "cpu/load_error.hpp"
#include "cpu/module.hpp"
#include "cpu/native/ahead.hpp"
#include "cpu/symbols.hpp"
#include "cpu/watch/findings.hpp"

using namespace cupola::cpu;

namespace {
constexpr int driver_version = 13000;
}

int cupola::cpu::absent() {
    return entry([] { return CUDA_ERROR_NOT_SUPPORTED; });
}

// ---- cupola's own exports -------------------------------------------------------------------

// By this the runtime recognises the CPU device. The text is for people.
CUPOLA_API const char* cupola_cpu_device(void) { return "cupola CPU device, CUDA driver API 13.0"; }

// One line on the last kernel fault of the process; empty where there was none. Valid until the
// calling thread asks again.
CUPOLA_API const char* cupola_cpu_last_fault(void) {
    thread_local std::string text;
    if (Driver::state() != CUDA_SUCCESS) return "";
    text = Driver::get().last_fault();
    return text.c_str();
}

// What was wrong with the PTX that the calling thread was last refused, also where the call has no
// log to write to: cuModuleGetFunction of a kernel that is read when it is asked for. Empty where
// there was none; valid until the thread is refused once more.
CUPOLA_API const char* cupola_cpu_last_refusal(void) { return last_load_error().c_str(); }

// How many different findings CUPOLA_CPU_CHECK has led to so far.
CUPOLA_API unsigned long long cupola_cpu_findings(void) { return watch::findings(); }

// How a kernel's launches run from now on: "compiled", "interpreted", or why there is no machine
// code of it. Valid until the calling thread asks again; nullptr where that is no function.
CUPOLA_API const char* cupola_cpu_execution(CUfunction function) {
    thread_local std::string text;
    const CUresult found = entry([&] {
        text = native::state_of(Function::from(function)->kernel());
        return CUDA_SUCCESS;
    });
    return found == CUDA_SUCCESS ? text.c_str() : nullptr;
}

// The C++ that a kernel is compiled from, behind the instructions' semantics. As above.
CUPOLA_API const char* cupola_cpu_printed(CUfunction function) {
    thread_local std::string text;
    const CUresult found = entry([&] {
        text = native::printed(Function::from(function)->kernel());
        return CUDA_SUCCESS;
    });
    return found == CUDA_SUCCESS ? text.c_str() : nullptr;
}

// Has machine code made ahead of time of kernels, for one level of this kind of processor
// ("x86-64-v3"): a library, which is to be named STEM.LEVEL.so. `without` gets a line for each
// kernel that is left out, and why; or why there is no library. Valid until the thread asks again.
CUPOLA_API CUresult cupola_cpu_make_ahead(const CUfunction* functions, size_t count,
                                          const char* level, const char* library,
                                          const char** without) {
    thread_local std::string text;
    text.clear();
    return entry([&] {
        require(level && library && without && (functions || count == 0));
        *without = text.c_str();
        std::vector<std::shared_ptr<Function>> held;
        std::vector<const Kernel*> kernels;
        for (size_t n = 0; n < count; ++n) {
            held.push_back(Function::from(functions[n]));
            kernels.push_back(&held.back()->kernel());
        }
        const bool made = native::make_ahead(kernels, level, library, text);
        *without = text.c_str();
        return made ? CUDA_SUCCESS : CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    });
}

// Has kernels that are asked for from now on taken from STEM.LEVEL.so, where that is there for this
// processor and was made of just them. Returns why a library that is there is not loaded, or "".
CUPOLA_API const char* cupola_cpu_add_ahead(const char* stem) {
    thread_local std::string text;
    const CUresult added = result_of([&] {
        text = stem ? native::add_ahead(stem) : "";
        return CUDA_SUCCESS;
    });
    return added == CUDA_SUCCESS ? text.c_str() : "no memory for a list of libraries";
}

// ---- cu* --------------------------------------------------------------------------------------

CUPOLA_API CUresult cuInit(unsigned int flags) {
    return guarded([&] { return Driver::initialize(flags); });
}

// These need no cuInit, and serve in a forked child too.

CUPOLA_API CUresult cuDriverGetVersion(int* version) {
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = driver_version;
    return CUDA_SUCCESS;
}

CUPOLA_API CUresult cuGetErrorName(CUresult error, const char** text) {
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    *text = error_name(error);
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUPOLA_API CUresult cuGetErrorString(CUresult error, const char** text) {
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    *text = error_text(error);
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUPOLA_API CUresult cuGetProcAddress_v2(const char* name, void** function, int version,
                                        cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
    constexpr cuuint64_t known =
        CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (!name || !function || (flags & ~known)) return CUDA_ERROR_INVALID_VALUE;
    // Of a version that is not written yet nothing can be promised.
    if (version > driver_version) return CUDA_ERROR_INVALID_VALUE;
    const Symbol symbol =
        find_symbol(name, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    *function = symbol.function;
    if (status) {
        *status = symbol.function ? CU_GET_PROC_ADDRESS_SUCCESS
                  : symbol.newer  ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                  : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    }
    // A null function and the status say that there is none; the call itself succeeds, as by
    // NVIDIA's driver (580). Only the first form, which has no status, returns NOT_FOUND.
    return CUDA_SUCCESS;
}

CUPOLA_API CUresult cuGetProcAddress(const char* name, void** function, int version,
                                     cuuint64_t flags) {
    const CUresult result = cuGetProcAddress_v2(name, function, version, flags, nullptr);
    return result == CUDA_SUCCESS && !*function ? CUDA_ERROR_NOT_FOUND : result;
}

// NVIDIA's own libraries ask for tables of functions that are documented nowhere. NVRTC calls this
// without a look whether it is there, and goes on without the table.
CUPOLA_API CUresult cuGetExportTable(const void** table, const CUuuid* id) {
    if (!table || !id) return CUDA_ERROR_INVALID_VALUE;
    *table = nullptr;
    return CUDA_ERROR_NOT_SUPPORTED;
}

// There is no profiler to start: as on a machine where none is attached.
CUPOLA_API CUresult cuProfilerStart(void) {
    return entry([] {
        Context::usable();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuProfilerStop(void) { return cuProfilerStart(); }
