/* cupola/reduce.h - reductions of arrays: sums, products, extremes, means, dot products. */
#ifndef CUPOLA_REDUCE_H
#define CUPOLA_REDUCE_H

#include "cupola/elementwise.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cupola_reduction {
    CUPOLA_SUM = 0,
    CUPOLA_PRODUCT = 1,
    CUPOLA_MINIMUM = 2, /* NaN where an element is NaN */
    CUPOLA_MAXIMUM = 3,
    CUPOLA_ANY = 4, /* of the elements' truth values */
    CUPOLA_ALL = 5,
    CUPOLA_MEAN = 6,
    CUPOLA_INDEX_OF_MINIMUM = 7, /* in C order of the reduced axes; of the first NaN if any */
    CUPOLA_INDEX_OF_MAXIMUM = 8,
    CUPOLA_DOT = 9 /* the sum of products */
} cupola_reduction;

/* Reduces x along the axes whose bits are set in `axes`. None of these may have a length of 0.
 *
 * Elements are converted to the type `element` when they are loaded, and accumulated in at least
 * its precision (integers in 64 bits, float16 in float32). `out` has strides for all axes of the
 * shape; those of reduced axes are ignored. y, only for dot products, has them too; those of kept
 * axes are ignored. Indices need an `out` of int64.
 *
 * The order of additions depends only on the shape: results have the same bits in each run and on
 * each device. With `at_once`, returns CUPOLA_WOULD_WAIT instead of waiting. */
CUPOLA_API int cupola_reduce(int reduction, int element, const cupola_operand* out,
                             const cupola_operand* x, const cupola_operand* y, const int64_t* shape,
                             int ndim, uint64_t axes, cupola_stream* stream, int at_once);

#ifdef __cplusplus
}
#endif

#endif
