// csrc/runtime/abi/elementwise.cpp - the functions of cupola/elementwise.h.
#include "cupola/elementwise.h"

#include "runtime/array/elementwise.hpp"
#include "runtime/array/operation.hpp"

using namespace cupola;

int cupola_operation(const char* name, int element) {
    return name ? operation_number(name, element) : -1;
}

int cupola_operation_result(int operation, int element) {
    return is_done(operation, element) ? result_of(operation, element) : elements::none;
}

int cupola_operation_is_function(int operation) { return class_of(operation) == function; }

const char* cupola_operation_name(int index) { return operation_name(index); }

int cupola_elementwise_flat(int operation, int element, uint64_t out, uint64_t x, uint64_t y,
                            const cupola_scalar* scalar, size_t count, cupola_stream* stream,
                            int at_once) {
    bool done = true;
    const int status = guard([&] {
        if (__builtin_expect(!is_done(operation, element), 0)) require_kernel(operation, element);
        Stream& s = *unwrap(check_not_null(stream, "stream"));
        s.context.driver.get();  // a forked child must not get further
        if (count)
            done = elementwise_flat(operation, element, out, x, y, scalar, count, s, at_once);
    });
    return done ? status : CUPOLA_WOULD_WAIT;
}

int cupola_elementwise(int operation, int element, const cupola_operand* out,
                       const cupola_operand* x, const cupola_operand* y,
                       const cupola_scalar* scalar, const int64_t* shape, int ndim,
                       cupola_stream* stream) {
    return guard([&] {
        if (ndim > 0) check_not_null(shape, "shape");
        Stream& s = *unwrap(check_not_null(stream, "stream"));
        s.context.driver.get();
        require_operands(operation, element, *check_not_null(out, "out"), *check_not_null(x, "x"),
                         *check_not_null(y, "y"));
        elementwise(operation, element, *out, *x, *y, scalar ? *scalar : cupola_scalar{}, shape,
                    ndim, s);
    });
}
