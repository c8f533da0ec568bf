// csrc/dropin/recorder/forward.cpp - every symbol of the driver as a jump to the real function.
//
// The jumps leave registers and stack as they are, so they need no parameters. They are weak: a
// function of the same name in this library replaces the jump. cuda.h is not included.
#if defined(__x86_64__)
#define CUPOLA_FORWARD(symbol) "jmp *cupola_real_" #symbol "(%rip)\n"
#elif defined(__aarch64__)
#define CUPOLA_FORWARD(symbol) \
    "adrp x16, cupola_real_" #symbol "\nldr x16, [x16, :lo12:cupola_real_" #symbol "]\nbr x16\n"
#else
#error "the recording driver has jumps for x86-64 and aarch64"
#endif

#define CUPOLA_ONE(name, since, symbol)                                                            \
    __asm__(".pushsection cupola_forward, \"ax\", %progbits\n.weak " #symbol "\n.type " #symbol    \
            ", %function\n" #symbol ":\n" CUPOLA_FORWARD(symbol) ".size " #symbol ", . - " #symbol \
                                                                 "\n.popsection\n");
#define CUPOLA_OWN(name, since, symbol) CUPOLA_ONE(name, since, symbol)
#define CUPOLA_ALSO(name, since, symbol)
#include "cpu/api/symbols.def"
#undef CUPOLA_ONE
#undef CUPOLA_OWN
#undef CUPOLA_ALSO
