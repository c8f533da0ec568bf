// csrc/cudart/own_name.hpp - the names of functions of stream/versions, which no header renames.
#pragma once

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define CUPOLA_OWN(name) name##_ptsz
#else
#define CUPOLA_OWN(name) name
#endif
