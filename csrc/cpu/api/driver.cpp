// csrc/cpu/api/driver.cpp - cu* entry points: initialisation, version, errors, symbols, profiler.
#include "cpu/device/driver/driver.hpp"

#include <memory>
#include <string>
#include <vector>

#include "cpu/analysis/ir_text.hpp"
#include "cpu/api/handle.hpp"
#include "cpu/api/startup.hpp"
#include "cpu/api/symbols.hpp"
#include "cpu/compiler/aot.hpp"
#include "cpu/compiler/machine_code.hpp"
#include "cpu/device/base/error_names.hpp"
#include "cpu/device/base/load_error.hpp"
#include "cpu/device/base/nvidia_runtime.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/module/library.hpp"
#include "cpu/device/module/module.hpp"
#include "cpu/sanitizer/findings.hpp"

using namespace cupola::cpu;

int cupola::cpu::absent() {
    return entry([] { return CUDA_ERROR_NOT_SUPPORTED; });
}

// Exports of cupola.

// The runtime recognises the CPU device by this symbol. The text is for users.
CUPOLA_API const char* cupola_cpu_device(void) { return "cupola CPU device, CUDA driver API 13.0"; }

// One line about the last kernel fault of the process; empty if no kernel has failed. Valid until
// the calling thread's next call.
CUPOLA_API const char* cupola_cpu_last_fault(void) {
    thread_local std::string text;
    if (DriverState::get() != CUDA_SUCCESS) return "";
    text = Driver::get().last_fault();
    return text.c_str();
}

// The calling thread's last error in PTX or in the settings that cuInit reads; empty if there was
// no error. This includes errors of calls without a log, such as cuModuleGetFunction of a kernel
// that is parsed on demand. The text is valid until the thread's next such error.
CUPOLA_API const char* cupola_cpu_last_refusal(void) { return last_load_error().c_str(); }

// The number of different findings of CUPOLA_CPU_CHECK so far.
CUPOLA_API unsigned long long cupola_cpu_findings(void) { return sanitizer::findings(); }

// How a kernel's next launches run: "compiled", "compiled, quick tier", "interpreted", or the
// reason why it has no machine code. After the second, a colon and the reason why the full tier
// failed may follow. The text is valid until the thread's next call. nullptr: the handle is
// invalid.
CUPOLA_API const char* cupola_cpu_execution(CUfunction function) {
    thread_local std::string text;
    const CUresult found = entry([&] {
        text = compiler::state_of(function_of(function)->kernel());
        return CUDA_SUCCESS;
    });
    return found == CUDA_SUCCESS ? text.c_str() : nullptr;
}

// Lines about the machine code of this process: the mode, the compiler or why there is none, and
// the cache. Runs the compiler for its version. Valid as above; empty before cuInit.
CUPOLA_API const char* cupola_cpu_machine_code(void) {
    thread_local std::string text;
    text.clear();
    if (DriverState::get() != CUDA_SUCCESS) return text.c_str();
    const CUresult found = result_of([&] {
        text = compiler::description(Driver::get().settings.mode);
        return CUDA_SUCCESS;
    });
    return found == CUDA_SUCCESS ? text.c_str() : "";
}

// The generated C++ of a kernel, without the semantics of the instructions. The text is valid until
// the thread's next call.
CUPOLA_API const char* cupola_cpu_printed(CUfunction function) {
    thread_local std::string text;
    const CUresult found = entry([&] {
        text = compiler::emitted_source(function_of(function)->kernel());
        return CUDA_SUCCESS;
    });
    return found == CUDA_SUCCESS ? text.c_str() : nullptr;
}

// The operations of a kernel and what is known of their values, as text. The text is valid until
// the thread's next call.
CUPOLA_API const char* cupola_cpu_ir(CUfunction function) {
    thread_local std::string text;
    const CUresult found = entry([&] {
        text = compiler::ir_of(function_of(function)->kernel());
        return CUDA_SUCCESS;
    });
    return found == CUDA_SUCCESS ? text.c_str() : nullptr;
}

// Compiles kernels ahead of time into a library for one level of this processor ("x86-64-v3"). The
// caller must name it STEM.LEVEL.so. `without` receives a line with the reason for each kernel that
// is left out, or for the missing library. Valid until the thread's next call.
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
            held.push_back(function_of(functions[n]));
            kernels.push_back(&held.back()->kernel());
        }
        const bool made = compiler::make_aot(kernels, level, library, text);
        *without = text.c_str();
        return made ? CUDA_SUCCESS : CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    });
}

// Kernels loaded after this call use STEM.LEVEL.so, if it exists for this processor and was
// compiled from the same kernels. Returns the reason if a library exists but is not loaded,
// otherwise "".
CUPOLA_API const char* cupola_cpu_add_ahead(const char* stem) {
    thread_local std::string text;
    const CUresult added = result_of([&] {
        text = stem ? compiler::add_aot(stem) : "";
        return CUDA_SUCCESS;
    });
    return added == CUDA_SUCCESS ? text.c_str() : "no memory for a list of libraries";
}

// Entry points of CUDA.

CUPOLA_API CUresult cuInit(unsigned int flags) {
    return guarded([&] { return initialize(flags); });
}

// The following functions work without cuInit and in a forked child.

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
    // A version newer than this driver is an error.
    if (version > driver_version) return CUDA_ERROR_INVALID_VALUE;
    const Symbol symbol =
        find_symbol(name, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    *function = symbol.function;
    if (status) {
        *status = symbol.function ? CU_GET_PROC_ADDRESS_SUCCESS
                  : symbol.newer  ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                  : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    }
    // For a missing symbol the function is null, `status` gives the reason, and the call succeeds,
    // as in NVIDIA's driver (580).
    return CUDA_SUCCESS;
}

// This form returns no status with a reason, so a missing symbol is NOT_FOUND.
CUPOLA_API CUresult cuGetProcAddress(const char* name, void** function, int version,
                                     cuuint64_t flags) {
    const CUresult result = cuGetProcAddress_v2(name, function, version, flags, nullptr);
    return result == CUDA_SUCCESS && !*function ? CUDA_ERROR_NOT_FOUND : result;
}

// NVIDIA's libraries request undocumented tables of functions. NVRTC calls this function without a
// check that it exists, and works without the table.
CUPOLA_API CUresult cuGetExportTable(const void** table, const CUuuid* id) {
    if (!table || !id) return CUDA_ERROR_INVALID_VALUE;
    tell_nvidia_runtime(*id, __builtin_return_address(0));
    *table = nullptr;
    return CUDA_ERROR_NOT_SUPPORTED;
}

// No profiler exists, so these calls succeed as if none were attached.
CUPOLA_API CUresult cuProfilerStart(void) {
    return entry([] {
        Context::usable();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuProfilerStop(void) { return cuProfilerStart(); }
