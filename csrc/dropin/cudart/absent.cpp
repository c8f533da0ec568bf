// csrc/dropin/cudart/absent.cpp - the result of a function that is not implemented.
#include "dropin/cudart/absent.hpp"

#include <cstdio>
#include <cstdlib>

#include "dropin/cudart/runtime.hpp"

namespace cupola::cudart {

int absent(const char* name) {
    const char* const level = std::getenv("CUPOLA_LOG");  // as csrc/runtime/base/log.hpp reads it
    if (level && *level)
        std::fprintf(stderr, "cupola: %s is not supported by cupola's CUDA runtime\n", name);
    return record(cudaErrorNotSupported);
}

}  // namespace cupola::cudart
