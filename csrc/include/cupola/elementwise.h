/* cupola/elementwise.h - elementwise operations of arrays, by NumPy's rules.
 *
 * An operation is identified by a number, which cupola_operation() finds by the name of NumPy's
 * ufunc; an element type is identified by its code below. The caller chooses the computed and
 * result types, for example with NumPy's ufunc.resolve_dtypes(). Types without a compiled kernel
 * are refused. */
#ifndef CUPOLA_ELEMENTWISE_H
#define CUPOLA_ELEMENTWISE_H

#include "cupola/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cupola_element {
    CUPOLA_ELEMENT_NONE = 0,
    CUPOLA_BOOL = 1,
    CUPOLA_INT8 = 2,
    CUPOLA_INT16 = 3,
    CUPOLA_INT32 = 4,
    CUPOLA_INT64 = 5,
    CUPOLA_UINT8 = 6,
    CUPOLA_UINT16 = 7,
    CUPOLA_UINT32 = 8,
    CUPOLA_UINT64 = 9,
    CUPOLA_FLOAT16 = 10,
    CUPOLA_FLOAT32 = 11,
    CUPOLA_FLOAT64 = 12,
    CUPOLA_COMPLEX64 = 13,
    CUPOLA_COMPLEX128 = 14,
    CUPOLA_ELEMENTS = 15
} cupola_element;

/* One number for all elements: the value for integers (for unsigned ones the same bits), the parts
 * for real and complex types. */
typedef union cupola_scalar {
    int64_t integer;
    double parts[2];
} cupola_scalar;

/* The number of an operation that computes in a type; -1 where no kernel does. */
CUPOLA_API int cupola_operation(const char* name, int element);
/* The result type of that operation. */
CUPOLA_API int cupola_operation_result(int operation, int element);
/* Whether operands must have exactly the computed type and results exactly the result type; the
 * caller then casts them. */
CUPOLA_API int cupola_operation_is_function(int operation);
/* The names at index 0, 1, 2 ..., some of them twice; NULL after the last. */
CUPOLA_API const char* cupola_operation_name(int index);

/* For contiguous arrays of `count` elements of type `element`; `out` has the result type. An
 * address of 0 stands for the scalar; operations of one operand have no y. With `at_once`, returns
 * CUPOLA_WOULD_WAIT instead of waiting. */
CUPOLA_API int cupola_elementwise_flat(int operation, int element, uint64_t out, uint64_t x,
                                       uint64_t y, const cupola_scalar* scalar, size_t count,
                                       cupola_stream* stream, int at_once);

/* Strided elements: along each axis the bytes from an element to the next, 0 to repeat. */
typedef struct cupola_operand {
    uint64_t address;
    const int64_t* strides;
    int element; /* CUPOLA_ELEMENT_NONE: the scalar, or no operand */
} cupola_operand;

/* Computes in the type `element`: operands are converted to it, results from it. */
CUPOLA_API int cupola_elementwise(int operation, int element, const cupola_operand* out,
                                  const cupola_operand* x, const cupola_operand* y,
                                  const cupola_scalar* scalar, const int64_t* shape, int ndim,
                                  cupola_stream* stream);

#ifdef __cplusplus
}
#endif

#endif
