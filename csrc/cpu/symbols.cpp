// csrc/cpu/symbols.cpp - the table of symbols, and the choice by version.
//
// cuda.h is not included: here every entry point is just a name with an address.
#include "cpu/symbols.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#define CUPOLA_ONE(name, since, symbol) extern "C" void symbol();
#define CUPOLA_TWO(name, since, symbol, own) \
    extern "C" void symbol();                \
    extern "C" void own();
#include "cpu/symbols.def"
#undef CUPOLA_ONE
#undef CUPOLA_TWO

namespace cupola::cpu {
namespace {

using Function = void (*)();

struct Row {
    std::string_view name;
    int since;
    Function legacy, per_thread;
};

// The stream forms for a thread's own default stream came with CUDA 7.
constexpr int per_thread_since = 7000;

const Row rows[] = {
#define CUPOLA_ONE(name, since, symbol) {#name, since, &symbol, &symbol},
#define CUPOLA_TWO(name, since, symbol, own) {#name, since, &symbol, &own},
#include "cpu/symbols.def"
#undef CUPOLA_ONE
#undef CUPOLA_TWO
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
    for (const Row* row : it->second) {
        const bool own = per_thread && row->per_thread != row->legacy;
        if (version < (own ? std::max(row->since, per_thread_since) : row->since)) continue;
        found.function = reinterpret_cast<void*>(own ? row->per_thread : row->legacy);
    }
    return found;
}

}  // namespace cupola::cpu
