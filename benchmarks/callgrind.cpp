// benchmarks/callgrind.cpp - callgrind's requests, as functions for instructions.py.
#include <valgrind/callgrind.h>

// Whether the process runs under valgrind at all.
extern "C" int callgrind_runs() { return RUNNING_ON_VALGRIND != 0; }

// Counts from here on, from zero.
extern "C" void callgrind_begin() {
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
}

// Writes what was counted, under a name.
extern "C" void callgrind_end(const char* name) { CALLGRIND_DUMP_STATS_AT(name); }
