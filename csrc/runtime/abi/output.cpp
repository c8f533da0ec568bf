// csrc/runtime/abi/output.cpp - the functions of cupola/output.h.
#include "cupola/output.h"

#include "runtime/base/error.hpp"
#include "runtime/driver/output.hpp"

using namespace cupola;

void cupola_output_set_sink(int (*wanted)(void), void (*write)(const char* text, size_t bytes)) {
    Output::set_sink(wanted, write);
}

void cupola_output_deliver(void) { Output::deliver(); }

const char* cupola_output_assertion(void) { return last_error().assertion.c_str(); }
