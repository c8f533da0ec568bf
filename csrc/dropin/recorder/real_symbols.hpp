// csrc/dropin/recorder/real_symbols.hpp - for each symbol of the driver, the address of the real
// function: cupola_real_cuInit.
//
// This file does not need cuda.h. A file that includes cuda.h first removes the macros that rename
// functions.
#pragma once

#define CUPOLA_ONE(name, since, symbol) \
    extern "C" __attribute__((visibility("hidden"))) void* cupola_real_##symbol;
#define CUPOLA_OWN(name, since, symbol) CUPOLA_ONE(name, since, symbol)
#define CUPOLA_ALSO(name, since, symbol)
#include "cpu/api/symbols.def"
#undef CUPOLA_ONE
#undef CUPOLA_OWN
#undef CUPOLA_ALSO
