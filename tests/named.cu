// tests/named.cu - kernels whose parameters are given by name, and structs that NumPy lays out.
#include <cuda_fp16.h>

union Number {
    int i;
    float f;
};
struct Bits {
    unsigned low : 3, middle : 7;
    int c;
};
struct Base {
    char tag;
    double weight;
};
struct Derived : Base {
    short grid[2][3];
    Number number;
    Bits bits;
    __half h;
    bool flag;
    const float* values;
};

extern "C" __global__ void fields(Derived d, double* out) {
    out[0] = d.tag;
    out[1] = d.weight;
    for (int i = 0; i < 6; ++i) out[2 + i] = d.grid[i / 3][i % 3];
    out[8] = d.number.f;
    out[9] = d.bits.low;
    out[10] = d.bits.middle;
    out[11] = d.bits.c;
    out[12] = __half2float(d.h);
    out[13] = d.flag;
    out[14] = d.values[1];
}

extern "C" __global__ void each(Derived* all, int n, double* out) {
    for (int i = 0; i < n; ++i) out[i] = all[i].weight * all[i].grid[1][2];
}

// Names that launch() has for itself, and one that is a keyword in Python.
extern "C" __global__ void clash(int* out, int stream, int shared, int lambda) {
    *out = 100 * stream + 10 * shared + lambda;
}

template <class... A>
__global__ void pack(int* out, int first, A... rest) {
    *out = first + (0 + ... + rest);
}
template __global__ void pack<int, int>(int*, int, int, int);

extern "C" __global__ void unnamed(int* out, int, int given) { *out = given; }

extern "C" __global__ void flat(const double* __restrict__ in, double* out, unsigned n) {
    for (unsigned i = 0; i < n; ++i) out[i] = in[i];
}
