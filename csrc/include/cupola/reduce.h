/* cupola/reduce.h - arrays reduced along axes: sums, products, extremes, means, dot products. */
#ifndef CUPOLA_REDUCE_H
#define CUPOLA_REDUCE_H

#include "cupola/elementwise.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cupola_reduction {
    CUPOLA_SUM = 0,
    CUPOLA_PRODUCT = 1,
    CUPOLA_MINIMUM = 2, /* NaN where there is one */
    CUPOLA_MAXIMUM = 3,
    CUPOLA_ANY = 4, /* whether elements are true */
    CUPOLA_ALL = 5,
    CUPOLA_MEAN = 6,
    CUPOLA_INDEX_OF_MINIMUM = 7, /* in C order of the reduced axes; the first of equals, or NaN */
    CUPOLA_INDEX_OF_MAXIMUM = 8,
    CUPOLA_DOT = 9 /* the sum of products */
} cupola_reduction;

/* Reduces x along the axes whose bits are set in `axes`, of which none has a length of 0.
 *
 * It is done in the type `element`: elements are turned into it as they are loaded, and added in at
 * least its precision (integers in 64 bits, float16 in float32). `out` has strides for all axes of
 * the shape, those of reduced axes mean nothing. y, of dot products alone, has them too, those of
 * axes that are kept mean nothing. Indices are put into int64.
 *
 * What is added to what depends on the shape alone: results have the same bits in each run and on
 * each device. Where `at_once`, CUPOLA_WOULD_WAIT in place of waiting for anything. */
CUPOLA_API int cupola_reduce(int reduction, int element, const cupola_operand* out,
                             const cupola_operand* x, const cupola_operand* y, const int64_t* shape,
                             int ndim, uint64_t axes, cupola_stream* stream, int at_once);

#ifdef __cplusplus
}
#endif

#endif
