// csrc/cpu/api/symbols.hpp - finds an entry point by name and version, for cuGetProcAddress.
#pragma once

#include <string_view>

namespace cupola::cpu {

struct Symbol {
    void* function = nullptr;
    bool newer = false;  // the name exists, but only in later versions
};

// `version` is CUDA's number (12040). `per_thread` selects the form whose stream 0 is the
// per-thread stream.
Symbol find_symbol(std::string_view name, int version, bool per_thread);

// The result of an entry point that is not implemented.
int absent();

}  // namespace cupola::cpu
