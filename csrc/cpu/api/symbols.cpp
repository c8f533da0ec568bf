// csrc/cpu/api/symbols.cpp - the table of symbols, the selection by version, and the function
// behind every entry point that is not implemented.
//
// cuda.h is not included: here every entry point is only a name with an address.
#include "cpu/api/symbols.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

// All missing entry points are this one function. It may ignore the arguments: in the C calling
// conventions of x86-64 and aarch64 Linux, the caller passes and removes them. The aliases are
// weak, so a function of that name anywhere in the library replaces the alias.
extern "C" int cupola_absent() { return cupola::cpu::absent(); }

#define CUPOLA_ONE(name, since, symbol) \
    extern "C" __attribute__((weak, alias("cupola_absent"), visibility("default"))) int symbol();
#define CUPOLA_OWN(name, since, symbol) CUPOLA_ONE(name, since, symbol)
#define CUPOLA_ALSO(name, since, symbol)
#include "cpu/api/symbols.def"
#undef CUPOLA_ONE
#undef CUPOLA_OWN
#undef CUPOLA_ALSO

namespace cupola::cpu {
namespace {

using Function = int (*)();

struct Row {
    std::string_view name;
    int since;
    bool per_thread;
    Function function;
};

const Row rows[] = {
#define CUPOLA_ONE(name, since, symbol) {#name, since, false, &symbol},
#define CUPOLA_OWN(name, since, symbol) {#name, since, true, &symbol},
#define CUPOLA_ALSO(name, since, symbol) {#name, since, false, &symbol},
#include "cpu/api/symbols.def"
#undef CUPOLA_ONE
#undef CUPOLA_OWN
#undef CUPOLA_ALSO
};

using Index = std::unordered_map<std::string_view, std::vector<const Row*>>;

const Index& index() {
    static const Index* const index = [] {
        auto* made = new Index;
        for (const Row& row : rows) (*made)[row.name].push_back(&row);
        for (auto& [name, versions] : *made)
            std::sort(versions.begin(), versions.end(),
                      [](const Row* a, const Row* b) { return a->since < b->since; });
        return made;
    }();
    return *index;
}

}  // namespace

Symbol find_symbol(std::string_view name, int version, bool per_thread) {
    Symbol found;
    const auto it = index().find(name);
    if (it == index().end()) return found;
    found.newer = true;
    const auto own = [](const Row* row) { return row->per_thread; };
    // If a form for the per-thread stream exists, the other forms are not candidates.
    per_thread = per_thread && std::any_of(it->second.begin(), it->second.end(), own);
    for (const Row* row : it->second)
        if (row->per_thread == per_thread && row->since <= version)
            found.function = reinterpret_cast<void*>(row->function);
    return found;
}

}  // namespace cupola::cpu
