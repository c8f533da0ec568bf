// csrc/dropin/cudart/absent.hpp - the result of a function that is not implemented.
#pragma once

namespace cupola::cudart {

// cudaErrorNotSupported, also as the thread's last error. CUPOLA_LOG=info writes a line with the
// name.
int absent(const char* name);

}  // namespace cupola::cudart
