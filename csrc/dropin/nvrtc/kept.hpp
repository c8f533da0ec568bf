// csrc/dropin/nvrtc/kept.hpp - writes the PTX of machine code for `cupola record`.
#pragma once

#include <string_view>

namespace cupola::nvrtc {

// Writes both to the folder of CUPOLA_RECORD_SPOOL, as package/cupola/compiler/kept_ptx.py does.
// A failure is reported on stderr: the launches are recorded without PTX then.
void keep(std::string_view cubin, std::string_view ptx);

}  // namespace cupola::nvrtc
