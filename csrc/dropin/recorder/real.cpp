// csrc/dropin/recorder/real.cpp - loads the real driver and finds its functions.
#include "dropin/recorder/real.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

// The function of a symbol that the real driver lacks, or of each symbol where no driver could be
// loaded. It may ignore the arguments: the caller passes and removes them.
extern "C" int cupola_recorder_absent() { return CUDA_ERROR_NOT_SUPPORTED; }
extern "C" int cupola_recorder_no_driver() { return CUDA_ERROR_NO_DEVICE; }

#define CUPOLA_ONE(name, since, symbol) \
    void* cupola_real_##symbol = reinterpret_cast<void*>(&cupola_recorder_no_driver);
#define CUPOLA_OWN(name, since, symbol) CUPOLA_ONE(name, since, symbol)
#define CUPOLA_ALSO(name, since, symbol)
#include "cpu/api/symbols.def"
#undef CUPOLA_ONE
#undef CUPOLA_OWN
#undef CUPOLA_ALSO

namespace cupola::recorder {
namespace {

void find(void* driver, void*& function, const char* symbol) {
    void* const found = dlsym(driver, symbol);
    function = found ? found : reinterpret_cast<void*>(&cupola_recorder_absent);
}

[[gnu::constructor]] void load_driver() {
    const char* const path = std::getenv("CUPOLA_RECORD_DRIVER");
    if (!path || !*path) {
        std::fputs(
            "cupola: CUPOLA_RECORD_DRIVER is not set: the recording driver is loaded by "
            "`python -m cupola record` alone\n",
            stderr);
        return;
    }
    void* const driver = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!driver) {
        std::fprintf(stderr, "cupola: the driver %s can't be loaded: %s\n", path, dlerror());
        return;
    }
#define CUPOLA_ONE(name, since, symbol) find(driver, cupola_real_##symbol, #symbol);
#define CUPOLA_OWN(name, since, symbol) CUPOLA_ONE(name, since, symbol)
#define CUPOLA_ALSO(name, since, symbol)
#include "cpu/api/symbols.def"
#undef CUPOLA_ONE
#undef CUPOLA_OWN
#undef CUPOLA_ALSO
}

}  // namespace

bool exists(const void* function) {
    return function != reinterpret_cast<void*>(&cupola_recorder_absent) &&
           function != reinterpret_cast<void*>(&cupola_recorder_no_driver);
}

}  // namespace cupola::recorder
