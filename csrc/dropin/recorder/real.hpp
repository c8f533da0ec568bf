// csrc/dropin/recorder/real.hpp - the functions of the driver behind the recorder.
//
// cuda.h is included with the names of symbols: a macro that renames a function of it is removed.
#pragma once

#include <cuda.h>

#undef cuGetProcAddress
#undef cuStreamBeginCapture
#undef cuGraphInstantiate

#define CUPOLA_API extern "C" __attribute__((visibility("default")))

#include "dropin/recorder/real_symbols.hpp"

// The real function of a symbol, with the type of a function that has the same parameters.
#define CUPOLA_REAL(symbol, type) reinterpret_cast<decltype(&type)>(cupola_real_##symbol)

namespace cupola::recorder {

// Whether the real driver exports the symbol whose pointer this is.
bool exists(const void* function);

}  // namespace cupola::recorder
