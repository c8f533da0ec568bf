// csrc/cpu/api/testing.cpp - exports of cupola for tests of kernels: printf, failed assertions,
// findings of the checks, seeded orders, watched bytes, counted accesses.
#include <string>

#include "cpu/base/seeded_order.hpp"
#include "cpu/device/base/held_output.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/sanitizer/findings.hpp"
#include "cpu/sanitizer/write_watch.hpp"
#include "cpu/traffic/traffic.hpp"

using namespace cupola::cpu;

// Sets whether printf output is held for cupola_cpu_take_output, for grids that are launched from
// now on. Without this, the output goes to C's stdout.
CUPOLA_API void cupola_cpu_hold_output(int on) { HeldOutput::get().hold(on != 0); }

// The number of bytes that the program has not taken yet.
CUPOLA_API size_t cupola_cpu_held_output(void) { return HeldOutput::get().bytes(); }

// Moves up to `room` of the oldest bytes to `to`, and returns their number.
CUPOLA_API size_t cupola_cpu_take_output(char* to, size_t room) {
    return HeldOutput::get().take(to, room);
}

// The failed assertion that is the last fault of the process, as seven lines: file, line, function,
// block ("0 0 0"), thread, kernel, expression. Empty if the last fault is none. Valid until the
// calling thread's next call.
CUPOLA_API const char* cupola_cpu_last_assertion(void) {
    thread_local std::string text;
    if (DriverState::get() != CUDA_SUCCESS) return "";
    text = Driver::get().last_assertion();
    return text.c_str();
}

// The reports of CUPOLA_CPU_CHECK since the last call. After the first call, reports are no longer
// printed but kept for the next call, and a finding that occurs again is reported again. Valid
// until the calling thread's next call.
CUPOLA_API const char* cupola_cpu_take_findings(void) {
    thread_local std::string text;
    sanitizer::keep_findings();
    text = sanitizer::take_findings();
    return text.c_str();
}

// Runs the launches from now on in the order of `seed`, if `on`; else in the usual order.
CUPOLA_API void cupola_cpu_set_seed(int on, unsigned long long seed) {
    if (on)
        SeededOrder::set_seed(seed);
    else
        SeededOrder::clear_seed();
}

// Watches bytes in the launches that are made from now on, in place of other bytes. No bytes:
// nothing is watched.
CUPOLA_API void cupola_cpu_watch_writes(unsigned long long address, unsigned long long bytes) {
    sanitizer::watch_writes(address, bytes);
}

// The block, the thread and the source line that wrote the watched bytes last; empty if none did.
// Valid until the calling thread's next call.
CUPOLA_API const char* cupola_cpu_last_write(void) {
    thread_local std::string text;
    text = sanitizer::last_write();
    return text.c_str();
}

// Whether accesses to memory are counted in the launches from now on.
CUPOLA_API void cupola_cpu_count_traffic(int on) { traffic::count(on != 0); }

// The counts since the last call, as csrc/cpu/traffic/traffic.hpp describes. Valid until the
// calling thread's next call.
CUPOLA_API const char* cupola_cpu_take_traffic(void) {
    thread_local std::string text;
    text = traffic::take();
    return text.c_str();
}
