// csrc/cpu/base/mode.hpp - which kernels run as machine code: CUPOLA_CPU_MODE.
#pragma once

namespace cupola::cpu {

enum class Mode {
    interpret,  // no machine code is used
    ahead,      // only code that was compiled when the program was built
    compile,    // kernels are compiled before their first launch; if that fails, the launch fails
    quick,      // as `compile`, with less time for the compiler, and slower code
    automatic,  // kernels are compiled in the background, while launches interpret them
};

}  // namespace cupola::cpu
