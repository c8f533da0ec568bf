// csrc/cpu/api/coverage.cpp - exports of cupola that switch coverage; package/cupola/coverage calls
// them.
#include "cpu/coverage/counts.hpp"

#include <string>

#include "cpu/device/driver/driver.hpp"

using namespace cupola::cpu;

namespace {

// The reason of a failure, or "". Valid until the calling thread's next call.
template <class F>
const char* reason_of(F act) {
    thread_local std::string text;
    text.clear();
    const CUresult result = result_of([&] {
        act(text);
        return CUDA_SUCCESS;
    });
    return result == CUDA_SUCCESS ? text.c_str() : "no memory for the counts of coverage";
}

}  // namespace

// Modules that are loaded after this call are counted, into this file.
CUPOLA_API const char* cupola_cpu_coverage_start(const char* file) {
    return reason_of([&](std::string& error) {
        if (!file || !*file)
            error = "coverage needs the name of a file";
        else
            coverage::start(file, error);
    });
}

// Appends the counts of the launches that have ended.
CUPOLA_API const char* cupola_cpu_coverage_write(void) {
    return reason_of([](std::string& error) { coverage::write(error); });
}

// Takes the counts as well, and stops counting.
CUPOLA_API const char* cupola_cpu_coverage_stop(void) {
    return reason_of([](std::string& error) { coverage::stop(error); });
}

// Launches that are made after this call count for the context of this name.
CUPOLA_API const char* cupola_cpu_coverage_context(const char* name) {
    return reason_of([&](std::string&) { coverage::switch_context(name ? name : ""); });
}
