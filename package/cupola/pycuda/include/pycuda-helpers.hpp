// pycuda-helpers.hpp - names that PyCUDA's sources expect.
//
// PyCUDA's functions for texture and surface references (fp_tex2D and others) are absent: compilers
// of CUDA 12 and newer refuse the references.
#ifndef CUPOLA_PYCUDA_HELPERS_HPP
#define CUPOLA_PYCUDA_HELPERS_HPP

#include <pycuda-complex.hpp>

extern "C++" {
typedef float fp_tex_float;
typedef int2 fp_tex_double;
typedef uint1 fp_tex_uint;
typedef float2 fp_tex_cfloat;
typedef int4 fp_tex_cdouble;
}

#endif  // CUPOLA_PYCUDA_HELPERS_HPP
