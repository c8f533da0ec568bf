/* tests/cublas_stub.c - the functions of cuBLAS that cupola calls, by the reference's formulas, in
 * host memory. It refuses arguments that cuBLAS refuses.
 */
#ifdef CONSTANTS  // compiled alone: the header declares the functions with its own types
#if __has_include("cublas_api.h")
#include "cublas_api.h"
_Static_assert(CUDA_R_32F == 0 && CUDA_R_64F == 1 && CUDA_R_16F == 2, "types");
_Static_assert(CUDA_C_32F == 4 && CUDA_C_64F == 5, "types");
_Static_assert(CUBLAS_COMPUTE_32F == 68 && CUBLAS_COMPUTE_64F == 70, "computation types");
_Static_assert(CUBLAS_OP_N == 0 && CUBLAS_OP_T == 1 && CUBLAS_GEMM_DEFAULT == -1, "operations");
_Static_assert(CUBLAS_STATUS_INVALID_VALUE == 7, "status");
#endif
#else
#include <complex.h>

enum { INVALID = 7, UNSUPPORTED = 15 };
static int created, handle;
static const void* stream;
long long calls, last_count;

int cublasCreate_v2(void** made) {
    ++created;
    *made = &handle;
    return 0;
}

int cublasSetStream_v2(void* given, const void* to) {
    stream = to;
    return given == &handle ? 0 : INVALID;
}

#define AT(x, ld, row, column, operation) \
    (x)[(operation) ? (column) + (row) * (long long)(ld) : (row) + (column) * (long long)(ld)]
#define GEMM(T, Sum)                                                                             \
    for (long long batch = 0; batch < count; ++batch) {                                          \
        const T* left = (const T*)a + batch * a_stride;                                          \
        const T* right = (const T*)b + batch * b_stride;                                         \
        T* out = (T*)c + batch * c_stride;                                                       \
        for (int i = 0; i < m; ++i)                                                              \
            for (int j = 0; j < n; ++j) {                                                        \
                Sum sum = 0;                                                                     \
                for (int l = 0; l < k; ++l)                                                      \
                    sum += (Sum)AT(left, lda, i, l, transa) *                               \
                           (Sum)AT(right, ldb, l, j, transb);                               \
                out[i + j * (long long)ldc] = (T)(*(const Sum*)alpha * sum);                     \
            }                                                                                    \
    }

int cublasGemmStridedBatchedEx(void* given, int transa, int transb, int m, int n, int k,
                               const void* alpha, const void* a, int a_type, int lda,
                               long long a_stride, const void* b, int b_type, int ldb,
                               long long b_stride, const void* beta, void* c, int c_type, int ldc,
                               long long c_stride, int count, int compute, int algorithm) {
    if (given != &handle || m < 0 || n < 0 || k < 0 || count < 0) return INVALID;
    if (lda < (transa ? k : m) || ldb < (transb ? n : k) || ldc < m) return INVALID;
    if (lda < 1 || ldb < 1 || ldc < 1 || algorithm != -1) return INVALID;
    if (a_type != b_type || a_type != c_type) return UNSUPPORTED;
    if (compute != (a_type == 1 || a_type == 5 ? 70 : 68)) return UNSUPPORTED;
    ++calls;
    last_count = count;
    switch (a_type) {
        case 0:
            if (*(const float*)beta != 0) return INVALID;
            GEMM(float, float)
            return 0;
        case 1:
            if (*(const double*)beta != 0) return INVALID;
            GEMM(double, double)
            return 0;
        case 2:
            if (*(const float*)beta != 0) return INVALID;
            GEMM(_Float16, float)
            return 0;
        case 4:
            if (*(const float complex*)beta != 0) return INVALID;
            GEMM(float complex, float complex)
            return 0;
        case 5:
            if (*(const double complex*)beta != 0) return INVALID;
            GEMM(double complex, double complex)
            return 0;
    }
    return UNSUPPORTED;
}

/* For the test: the stream of the last call, and how many handles were made. */
const void* last_stream(void) { return stream; }
int handles(void) { return created; }
#endif
