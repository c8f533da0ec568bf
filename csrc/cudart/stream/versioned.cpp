// csrc/cudart/stream/versioned.cpp - functions that take a stream, and whose parameters differ
// between versions 12 and 13 of the runtime. No header renames them here: CUPOLA_OWN does.
#include "cudart/runtime.hpp"

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define CUPOLA_OWN(name) name##_ptsz
#else
#define CUPOLA_OWN(name) name
#endif

using namespace cupola::cudart;
