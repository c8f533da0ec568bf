// csrc/cpu/symbols.hpp - finding an entry point by name and version, for cuGetProcAddress.
#pragma once

#include <string_view>

namespace cupola::cpu {

struct Symbol {
    void* function = nullptr;
    bool newer = false;  // there is one of that name, but only since a later version
};

// `version` is CUDA's number (12040). `per_thread`: the form whose stream 0 is the thread's own.
Symbol find_symbol(std::string_view name, int version, bool per_thread);

// What an entry point answers that is not implemented.
int absent();

}  // namespace cupola::cpu
