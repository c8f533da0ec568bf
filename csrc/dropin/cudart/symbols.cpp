// csrc/dropin/cudart/symbols.cpp - the function behind every exported name that is not implemented.
//
// NVIDIA's headers are not included: here every function is only a name. It is compiled once for
// each version of the library.
#include "dropin/cudart/absent.hpp"

// A strong definition anywhere in the library replaces a weak one. It may ignore the arguments: in
// the C calling conventions of x86-64 and aarch64 Linux, the caller passes and removes them.
#define CUPOLA_ABSENT(name)                                              \
    extern "C" __attribute__((weak, visibility("default"))) int name() { \
        return cupola::cudart::absent(#name);                            \
    }
#define CUPOLA_BOTH(name) CUPOLA_ABSENT(name)
#if CUPOLA_CUDART_MAJOR == 12
#define CUPOLA_12(name) CUPOLA_ABSENT(name)
#define CUPOLA_13(name)
#else
#define CUPOLA_12(name)
#define CUPOLA_13(name) CUPOLA_ABSENT(name)
#endif
#include "dropin/cudart/symbols.def"
