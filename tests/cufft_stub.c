/* tests/cufft_stub.c - the functions of cuFFT that cupola calls, by the formula of the discrete
 * Fourier transform, in host memory. It refuses arguments that cuFFT refuses.
 */
#include <stddef.h>
#ifdef CONSTANTS  // compiled alone: the header declares the functions with its own types
#if __has_include("cufft.h")
#include "cufft.h"
_Static_assert(CUFFT_C2C == 0x29 && CUFFT_R2C == 0x2a && CUFFT_C2R == 0x2c, "types");
_Static_assert(CUFFT_Z2Z == 0x69 && CUFFT_D2Z == 0x6a && CUFFT_Z2D == 0x6c, "types");
_Static_assert(CUFFT_FORWARD == -1 && CUFFT_INVERSE == 1, "directions");
_Static_assert(CUFFT_INVALID_PLAN == 1 && CUFFT_INVALID_TYPE == 3, "status");
_Static_assert(CUFFT_INVALID_VALUE == 4 && CUFFT_INVALID_SIZE == 8, "status");
_Static_assert(CUFFT_NO_WORKSPACE == 13, "status");
_Static_assert(sizeof(cufftHandle) == sizeof(int), "handle");
#endif
#else
#include <complex.h>
#include <math.h>
#include <stdlib.h>

enum { INVALID_PLAN = 1, INVALID_TYPE = 3, INVALID = 4, INVALID_SIZE = 8, NO_WORKSPACE = 13 };
enum { C2C = 0x29, R2C = 0x2a, C2R = 0x2c, Z2Z = 0x69, D2Z = 0x6a, Z2D = 0x6c, MOST = 256 };
static const double pi = 3.141592653589793238462643383279502884;

typedef struct {
    int used, type, rank, automatic;
    long long n[3], batch, in_step, in_distance, out_step, out_distance;
    long long in_lengths[3], out_lengths[3];
    void* work;
    const void* stream;
} Plan;
static Plan plans[MOST];
long long calls, made, destroyed;
static const void* last;

static Plan* find(int handle) {
    return handle >= 0 && handle < MOST && plans[handle].used ? &plans[handle] : NULL;
}

int cufftCreate(int* handle) {
    int i = 0;
    while (i < MOST && plans[i].used) ++i;
    if (i == MOST) return INVALID_PLAN;
    plans[i] = (Plan){.used = 1, .automatic = 1};
    *handle = i;
    ++made;
    return 0;
}

int cufftDestroy(int handle) {
    Plan* plan = find(handle);
    if (!plan) return INVALID_PLAN;
    plan->used = 0;
    ++destroyed;
    return 0;
}

int cufftSetAutoAllocation(int handle, int automatic) {
    if (!find(handle)) return INVALID_PLAN;
    find(handle)->automatic = automatic;
    return 0;
}

int cufftMakePlanMany64(int handle, int rank, long long* n, long long* inembed, long long istride,
                        long long idist, long long* onembed, long long ostride, long long odist,
                        int type, long long batch, size_t* work) {
    Plan* plan = find(handle);
    if (!plan || plan->rank) return INVALID_PLAN;
    if (rank < 1 || rank > 3 || batch < 1 || !work) return INVALID_SIZE;
    if ((type & ~0x47) != 0x28) return INVALID_TYPE;
    plan->rank = rank, plan->type = type, plan->batch = batch;
    long long in_count = 1, out_count = 1;
    for (int i = 0; i < rank; ++i) {
        if (n[i] < 1) return INVALID_SIZE;
        const long long half = i == rank - 1 ? n[i] / 2 + 1 : n[i];
        plan->n[i] = n[i];
        plan->in_lengths[i] = type == C2R || type == Z2D ? half : n[i];
        plan->out_lengths[i] = type == R2C || type == D2Z ? half : n[i];
        in_count *= plan->in_lengths[i], out_count *= plan->out_lengths[i];
    }
    // Without lengths in memory, the transforms lie one after another, whatever the steps say.
    plan->in_step = inembed ? istride : 1, plan->in_distance = inembed ? idist : in_count;
    plan->out_step = onembed ? ostride : 1, plan->out_distance = onembed ? odist : out_count;
    *work = 64;
    return 0;
}

int cufftSetWorkArea(int handle, void* work) {
    if (!find(handle)) return INVALID_PLAN;
    find(handle)->work = work;
    return 0;
}

int cufftSetStream(int handle, const void* stream) {
    if (!find(handle)) return INVALID_PLAN;
    find(handle)->stream = stream;
    return 0;
}

// One transform, of complex numbers one after another, along each axis by the formula.
static void dft(double complex* x, const long long* n, int rank, int direction) {
    long long total = 1, inner = 1;
    for (int i = 0; i < rank; ++i) total *= n[i];
    double complex* row = malloc(sizeof(*row) * total);
    for (int axis = rank - 1; axis >= 0; inner *= n[axis--])
        for (long long first = 0; first < total; ++first) {
            if (first / inner % n[axis]) continue;
            for (long long k = 0; k < n[axis]; ++k) {
                row[k] = 0;
                for (long long j = 0; j < n[axis]; ++j)
                    row[k] += x[first + j * inner] *
                              cexp(direction * 2 * pi * I * (double)(j * k % n[axis]) / n[axis]);
            }
            for (long long k = 0; k < n[axis]; ++k) x[first + k * inner] = row[k];
        }
    free(row);
}

static int check(int handle, int type, const void* in, const void* out, int direction) {
    const Plan* plan = find(handle);
    if (!plan || !plan->rank) return INVALID_PLAN;
    if (plan->type != type) return INVALID_TYPE;
    if (!plan->automatic && !plan->work) return NO_WORKSPACE;
    const size_t size = type & 0x40 ? 16 : 8;
    if (!in || !out || (size_t)in % size || (size_t)out % size) return INVALID;
    if (direction != 1 && direction != -1) return INVALID;
    ++calls;
    last = plan->stream;
    return 0;
}

#define RUN(type, T, Out, direction)                                                             \
    const int status = check(handle, type, in, out, direction);                                  \
    if (status) return status;                                                                   \
    const Plan* plan = find(handle);                                                             \
    const int rank = plan->rank;                                                                 \
    long long total = 1, in_count = 1, out_count = 1;                                            \
    for (int i = 0; i < rank; ++i) {                                                             \
        total *= plan->n[i];                                                                     \
        in_count *= plan->in_lengths[i], out_count *= plan->out_lengths[i];                      \
    }                                                                                            \
    double complex* x = malloc(sizeof(*x) * total * plan->batch);                                \
    const long long last_n = plan->n[rank - 1];                                                  \
    const long long in_row = plan->in_lengths[rank - 1], out_row = plan->out_lengths[rank - 1];  \
    for (long long b = 0; b < plan->batch; ++b) {                                                \
        const T* source = (const T*)in + b * plan->in_distance;                                  \
        double complex* mine = x + b * total;                                                    \
        for (long long i = 0; i < in_count; ++i)                                                 \
            mine[i / in_row * last_n + i % in_row] = source[i * plan->in_step];                  \
        if (in_row < last_n) /* the rest is conjugated; only for one axis */                     \
            for (long long i = in_row; i < last_n; ++i) mine[i] = conj(mine[last_n - i]);        \
        dft(mine, plan->n, rank, direction);                                                     \
    }                                                                                            \
    if (in_row < last_n) /* the source is overwritten, as cuFFT may */                           \
        for (long long i = 0; i < in_count; ++i) ((T*)in)[i * plan->in_step] = NAN;              \
    for (long long b = 0; b < plan->batch; ++b)                                                  \
        for (long long i = 0; i < out_count; ++i)                                                \
            ((Out*)out)[b * plan->out_distance + i * plan->out_step] =                           \
                (Out)x[b * total + i / out_row * last_n + i % out_row];                          \
    free(x);                                                                                     \
    return 0;

#define COMPLEX(name, type, T) \
    int name(int handle, void* in, void* out, int direction) { RUN(type, T, T, direction) }
#define MIXED(name, type, T, Out, direction) \
    int name(int handle, void* in, void* out) { RUN(type, T, Out, direction) }

COMPLEX(cufftExecC2C, C2C, float complex)
COMPLEX(cufftExecZ2Z, Z2Z, double complex)
MIXED(cufftExecR2C, R2C, float, float complex, -1)
MIXED(cufftExecD2Z, D2Z, double, double complex, -1)
MIXED(cufftExecC2R, C2R, float complex, float, 1)
MIXED(cufftExecZ2D, Z2D, double complex, double, 1)

/* For the test: the stream of the last call. */
const void* last_stream(void) { return last; }
#endif
