// tests/kernels.cu - the tests' own kernels: each does one thing that NumPy or plain arithmetic
// can say as well.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// -- one argument of each type: what arrives is stored ---------------------------------------

template <class T>
__global__ void store(T* out, T value) {
    *out = value;
}
template __global__ void store<bool>(bool*, bool);
template __global__ void store<signed char>(signed char*, signed char);
template __global__ void store<unsigned char>(unsigned char*, unsigned char);
template __global__ void store<short>(short*, short);
template __global__ void store<unsigned short>(unsigned short*, unsigned short);
template __global__ void store<int>(int*, int);
template __global__ void store<unsigned int>(unsigned int*, unsigned int);
template __global__ void store<long long>(long long*, long long);
template __global__ void store<unsigned long long>(unsigned long long*, unsigned long long);
template __global__ void store<__half>(__half*, __half);
template __global__ void store<__nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16);
template __global__ void store<float>(float*, float);
template __global__ void store<double>(double*, double);

struct Box {
    int a;
    float b;
    double c;
};
struct Odd {
    unsigned char bytes[5];
};
struct Large {
    int values[1022];  // with the pointer after it, 4096 bytes: what every device takes
};

extern "C" __global__ void unpack(Box box, double* out) {
    out[0] = box.a;
    out[1] = box.b;
    out[2] = box.c;
}

extern "C" __global__ void odd(Odd odd, int* out) {
    for (int i = 0; i < 5; ++i) out[i] = odd.bytes[i];
}

extern "C" __global__ void large(Large large, unsigned* out) {
    unsigned sum = 0;
    for (int i = 0; i < 1022; ++i) sum += (i + 1) * large.values[i];
    *out = sum;
}

#define EIGHT(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7)
#define FORTY(m, a, b, c, d, e) EIGHT(m, a) EIGHT(m, b) EIGHT(m, c) EIGHT(m, d) EIGHT(m, e)
#define ALL(m) FORTY(m, 0, 1, 2, 3, 4) FORTY(m, 5, 6, 7, 8, 9)
#define DECLARE(n) int p##n,
#define ADD(n) sum = 3 * sum + p##n;
extern "C" __global__ void eighty(ALL(DECLARE) unsigned* out) {
    unsigned sum = 0;
    ALL(ADD)
    *out = sum;
}

// -- memory in and out -----------------------------------------------------------------------

extern "C" __global__ void axpy(float a, const float* x, const float* y, float* out, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __fadd_rn(__fmul_rn(a, x[i]), y[i]);  // two roundings, as NumPy does
}

extern "C" __global__ void increment(int* values, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] += 1;
}

// A kernel with a C++ name: the mangled name has the types.
__global__ void accumulate(const int* in, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += in[i];
}

extern "C" __global__ void is_null(const void* pointer, int* out) { *out = pointer == nullptr; }

// -- grid and block --------------------------------------------------------------------------

// Writes six numbers for each thread, blocks in order: the indices of block and thread.
extern "C" __global__ void positions(int* out) {
    const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const int threads = blockDim.x * blockDim.y * blockDim.z;
    int* mine = out + 6 * (block * threads + thread);
    mine[0] = blockIdx.x;
    mine[1] = blockIdx.y;
    mine[2] = blockIdx.z;
    mine[3] = threadIdx.x;
    mine[4] = threadIdx.y;
    mine[5] = threadIdx.z;
}

extern "C" __global__ void __launch_bounds__(128) bounded(int* out) { out[threadIdx.x] = 1; }

extern "C" __global__ void reverse(int* values) {
    __shared__ int kept[256];
    kept[threadIdx.x] = values[threadIdx.x];
    __syncthreads();
    values[threadIdx.x] = kept[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void reverse_dynamic(int* values, int n) {
    extern __shared__ int memory[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) memory[i] = values[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) values[i] = memory[n - 1 - i];
}

// -- time ------------------------------------------------------------------------------------

// value after `steps` steps of a linear congruential generator, one after another: slow at will.
extern "C" __global__ void congruential(unsigned* value, unsigned steps) {
    unsigned x = *value;
    for (unsigned i = 0; i < steps; ++i) x = x * 1664525u + 1013904223u;
    *value = x;
}

// Waits until the host sets *open, so that work queued behind this kernel runs only after that.
// `limit` ends the wait, so that a wrong driver or test fails instead of hanging.
extern "C" __global__ void gate(const volatile int* open, unsigned limit, int* opened) {
    unsigned looks = 0;
    while (*open == 0 && ++looks < limit) {
    }
    *opened = *open;
}

extern "C" __global__ void copy_one(const unsigned* from, unsigned* to) { *to = *from; }

// -- names and variables ---------------------------------------------------------------------

namespace outer {
__global__ void inside(int* out) { *out = 7; }
}  // namespace outer

__global__ void both(int* out) { *out = 1; }
__global__ void both(float* out) { *out = 2; }

template <int factor>
__global__ void scale(int* values) {
    values[threadIdx.x] *= factor;
}
template __global__ void scale<2>(int*);
template __global__ void scale<3>(int*);

__constant__ int table[16];
__device__ float weights[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
__device__ int counter;
__managed__ int both_sides[2] = {3, 4};
__constant__ Box settings;
__device__ Box boxes[2];

extern "C" __global__ void lookup(int* out) { out[threadIdx.x] = table[threadIdx.x]; }
extern "C" __global__ void weigh(float* out) { out[threadIdx.x] = 2 * weights[0][threadIdx.x]; }
extern "C" __global__ void open_boxes(double* out) {
    const Box all[3] = {settings, boxes[0], boxes[1]};
    for (int i = 0; i < 3; ++i) out[i] = all[i].a + all[i].b + all[i].c;
}
extern "C" __global__ void swap() {
    const int first = both_sides[0];
    both_sides[0] = both_sides[1];
    both_sides[1] = first;
}
extern "C" __global__ void bump() { atomicAdd(&counter, 1); }
