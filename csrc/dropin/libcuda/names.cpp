// csrc/dropin/libcuda/names.cpp - the names of libcuda.so.1, for programs that are linked to it.
//
// The drop-in is a filter of libcupola_cpu.so.1: at run time the loader takes that library's
// functions, and none of these is called.
extern "C" int cupola_filtered() { __builtin_trap(); }

#define CUPOLA_ONE(name, since, symbol) \
    extern "C" __attribute__((alias("cupola_filtered"), visibility("default"))) int symbol();
#define CUPOLA_OWN(name, since, symbol) CUPOLA_ONE(name, since, symbol)
#define CUPOLA_ALSO(name, since, symbol)
#include "cpu/api/symbols.def"
#undef CUPOLA_ONE
#undef CUPOLA_OWN
#undef CUPOLA_ALSO
