// csrc/cpu/base/mode.hpp - which kernels run as machine code: CUPOLA_CPU_MODE.
#pragma once

namespace cupola::cpu {

enum class Mode {
    interpret,  // no machine code is used
    ahead,      // only code that was compiled when the program was built
    compile,    // before a kernel's first launch; if that fails, the launch fails
    automatic,  // in the background, while launches interpret the kernel
};

}  // namespace cupola::cpu
