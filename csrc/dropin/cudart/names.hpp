// csrc/dropin/cudart/names.hpp - the names of functions of versions and stream/versions, which no
// header renames.
#pragma once

// A function of a stream: its twin for the thread's own default stream.
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define CUPOLA_OWN(name) CUPOLA_TWIN(name)
#define CUPOLA_TWIN(name) name##_ptsz
#else
#define CUPOLA_OWN(name) name
#endif

// A function of version 13, which version 12 has under the same name with a suffix.
#if CUPOLA_CUDART_MAJOR == 12
#define CUPOLA_NEW(name, suffix) name##suffix
#else
#define CUPOLA_NEW(name, suffix) name
#endif
