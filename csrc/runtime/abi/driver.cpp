// csrc/runtime/abi/driver.cpp - the functions of cupola/driver.h.
#include "cupola/driver.h"

#include <cstring>

#include "runtime/driver/driver.hpp"

using namespace cupola;

namespace {

// The driver, or null where none can be called; the reason becomes this thread's last error.
const Driver* usable_driver() noexcept {
    const Driver* found = main_driver_alive();
    if (__builtin_expect(found != nullptr, 1)) return found;
    guard([&] { found = &load_main_driver(); });
    return found;
}

template <auto Member>
struct Through;

template <class... Arguments, CUresult (CUDAAPI* Driver::*Member)(Arguments...)>
struct Through<Member> {
    static CUresult CUDAAPI call(Arguments... arguments) {
        const Driver* const driver = usable_driver();
        if (__builtin_expect(driver == nullptr, 0)) return CUDA_ERROR_NOT_INITIALIZED;
        const auto function = driver->*Member;
        return __builtin_expect(function != nullptr, 1) ? function(arguments...)
                                                        : CUDA_ERROR_NOT_SUPPORTED;
    }
};

#define CUPOLA_SYMBOL(name, version) \
    {#name, version, reinterpret_cast<void (*)()>(&Through<&Driver::name>::call)},
const cupola_driver_symbol symbols[] = {CUPOLA_DRIVER_SYMBOLS(CUPOLA_SYMBOL, CUPOLA_SYMBOL)};
#undef CUPOLA_SYMBOL

}  // namespace

int cupola_driver_select(const char* choice) {
    return guard([&] { select_driver(check_not_null(choice, "choice")); });
}

int cupola_driver_get(cupola_driver_info* out) {
    return guard([&] {
        check_not_null(out, "out");
        const Driver& d = main_choice();
        *out = {d.cpu ? "cpu" : "cuda", d.path.c_str(), d.version, d.reason.c_str(),
                d.notice.c_str()};
    });
}

int cupola_driver_beside(void) {
    const Driver* const cpu = cpu_driver_alive();
    return cpu && cpu != main_driver_alive();
}

int cupola_driver_loaded(void) { return main_driver_alive() != nullptr; }

const char* cupola_driver_report(void) {
    thread_local std::string report;
    report = driver_report();
    return report.c_str();
}

const cupola_driver_symbol* cupola_driver_symbols(size_t* count) {
    if (count) *count = sizeof symbols / sizeof *symbols;
    return symbols;
}

const cupola_driver_symbol* cupola_driver_find(const char* name) {
    if (name)
        for (const cupola_driver_symbol& symbol : symbols)
            if (std::strcmp(symbol.name, name) == 0) return &symbol;
    return nullptr;
}

int cupola_driver_check(int code, const char* call) {
    return guard([&] {
        check_not_null(call, "call");
        if (code) fail_driver(main_driver_alive(), static_cast<CUresult>(code), call);
    });
}
