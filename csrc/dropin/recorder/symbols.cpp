// csrc/dropin/recorder/symbols.cpp - cuGetProcAddress, by which the runtime API and most programs
// find the driver's functions.
//
// cuda.h is not included: here every entry point is only a name with an address.
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dropin/recorder/real_symbols.hpp"

#define CUPOLA_ONE(name, since, symbol) extern "C" int symbol();
#define CUPOLA_OWN(name, since, symbol) CUPOLA_ONE(name, since, symbol)
#define CUPOLA_ALSO(name, since, symbol)
#include "cpu/api/symbols.def"
#undef CUPOLA_ONE
#undef CUPOLA_OWN
#undef CUPOLA_ALSO

// The jumps to the real functions (forward.cpp).
extern "C" __attribute__((visibility("hidden"))) const char __start_cupola_forward[];
extern "C" __attribute__((visibility("hidden"))) const char __stop_cupola_forward[];

namespace cupola::recorder {
namespace {

using Address = int (*)(const char*, void**, int, std::uint64_t, int*);

struct Row {
    int since;
    bool per_thread;
    void* function;
};

bool is_jump(const void* function) {
    const auto at = reinterpret_cast<std::uintptr_t>(function);
    return at >= reinterpret_cast<std::uintptr_t>(__start_cupola_forward) &&
           at < reinterpret_cast<std::uintptr_t>(__stop_cupola_forward);
}

// The functions of this library that are no jumps, by name.
using Index = std::unordered_map<std::string_view, std::vector<Row>>;

const Index& replaced() {
    static const Index* const index = [] {
        auto* const made = new Index;
        const auto add = [&](const char* name, int since, bool per_thread, int (*function)()) {
            void* const address = reinterpret_cast<void*>(function);
            if (!is_jump(address)) (*made)[name].push_back({since, per_thread, address});
        };
#define CUPOLA_ONE(name, since, symbol) add(#name, since, false, &symbol);
#define CUPOLA_OWN(name, since, symbol) add(#name, since, true, &symbol);
#define CUPOLA_ALSO(name, since, symbol) add(#name, since, false, &symbol);
#include "cpu/api/symbols.def"
#undef CUPOLA_ONE
#undef CUPOLA_OWN
#undef CUPOLA_ALSO
        return made;
    }();
    return *index;
}

constexpr std::uint64_t per_thread_stream = 2;  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

int find(Address real, const char* name, void** function, int version, std::uint64_t flags,
         int* status) {
    const int result = real(name, function, version, flags, status);
    if (result != 0 || !*function) return result;
    const auto it = replaced().find(name);
    if (it == replaced().end()) return result;
    // If a form for the per-thread stream exists, the other forms are not candidates.
    bool own = false;
    for (const Row& row : it->second) own |= row.per_thread;
    own = own && (flags & per_thread_stream);
    const Row* newest = nullptr;
    for (const Row& row : it->second)
        if (row.per_thread == own && row.since <= version && (!newest || row.since > newest->since))
            newest = &row;
    // A newer driver may have another function of this name and version than the table. Its
    // parameters are unknown here, so it is not replaced.
    void* same = nullptr;
    if (newest && real(name, &same, newest->since, flags, nullptr) == 0 && same == *function)
        *function = newest->function;
    return result;
}

// The older form of the function, as a function with a status.
int first_form(const char* name, void** function, int version, std::uint64_t flags, int*) {
    using First = int (*)(const char*, void**, int, std::uint64_t);
    return reinterpret_cast<First>(cupola_real_cuGetProcAddress)(name, function, version, flags);
}

}  // namespace
}  // namespace cupola::recorder

// The names are given by the assembler: in C++ the entry points of this file have no parameters.
#define CUPOLA_EXPORT(symbol) __asm__(#symbol) __attribute__((visibility("default")))
extern "C" {
int found_address(const char*, void**, int, std::uint64_t, int*) CUPOLA_EXPORT(cuGetProcAddress_v2);
int first_address(const char*, void**, int, std::uint64_t) CUPOLA_EXPORT(cuGetProcAddress);
}

int found_address(const char* name, void** function, int version, std::uint64_t flags,
                  int* status) {
    const auto real = reinterpret_cast<cupola::recorder::Address>(cupola_real_cuGetProcAddress_v2);
    return cupola::recorder::find(real, name, function, version, flags, status);
}

int first_address(const char* name, void** function, int version, std::uint64_t flags) {
    return cupola::recorder::find(&cupola::recorder::first_form, name, function, version, flags,
                                  nullptr);
}
