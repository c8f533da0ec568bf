/* cupola/elementwise.h - operations on the elements of arrays, by NumPy's rules.
 *
 * An operation is known by its number, which cupola_operation() finds by the name of NumPy's ufunc;
 * an element type by its code, below. Which types an operation is done in, and what it gives, is
 * the caller's to say, as NumPy's ufunc.resolve_dtypes() tells it; what a kernel was not compiled
 * for is refused. */
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

/* One number for all elements: of an integer type its value (of unsigned ones the same bits), of
 * real and complex types their parts. */
typedef union cupola_scalar {
    int64_t integer;
    double parts[2];
} cupola_scalar;

/* The number of an operation, as it is done in a type, or -1: there is no kernel for that. */
CUPOLA_API int cupola_operation(const char* name, int element);
/* The type of what it then gives. */
CUPOLA_API int cupola_operation_result(int operation, int element);
/* Whether its operands and results have to be of the very type that it is done in, and of the one
 * that it gives: then the caller casts them. */
CUPOLA_API int cupola_operation_is_function(int operation);
/* The names, by 0, 1, 2 ..., some of them twice; NULL after the last. */
CUPOLA_API const char* cupola_operation_name(int index);

/* Arrays of `count` elements which follow each other, all of the type `element`; `out` of what
 * the operation gives. An address of 0 stands for the scalar; operations of one
 * operand have no y. Where `at_once`, CUPOLA_WOULD_WAIT in place of waiting for anything. */
CUPOLA_API int cupola_elementwise_flat(int operation, int element, uint64_t out, uint64_t x,
                                       uint64_t y, const cupola_scalar* scalar, size_t count,
                                       cupola_stream* stream, int at_once);

/* Elements anywhere: bytes from one to the next along each axis, 0 to repeat them. */
typedef struct cupola_operand {
    uint64_t address;
    const int64_t* strides;
    int element; /* CUPOLA_ELEMENT_NONE: the scalar, or nothing */
} cupola_operand;

/* The operation done in the type `element`: operands are turned into it, results out of it. */
CUPOLA_API int cupola_elementwise(int operation, int element, const cupola_operand* out,
                                  const cupola_operand* x, const cupola_operand* y,
                                  const cupola_scalar* scalar, const int64_t* shape, int ndim,
                                  cupola_stream* stream);

#ifdef __cplusplus
}
#endif

#endif
