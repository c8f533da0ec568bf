// csrc/runtime/abi/reduce.cpp - the functions of cupola/reduce.h.
#include "cupola/reduce.h"

#include "runtime/array/reduce.hpp"

using namespace cupola;

int cupola_reduce(int reduction, int element, const cupola_operand* out, const cupola_operand* x,
                  const cupola_operand* y, const int64_t* shape, int ndim, uint64_t axes,
                  cupola_stream* stream, int at_once) {
    bool done = true;
    const int status = guard([&] {
        if (ndim > 0) check_not_null(shape, "shape");
        Stream& s = *unwrap(check_not_null(stream, "stream"));
        s.context.driver.get();  // a forked child must not get further
        done = reduce(reduction, element, *check_not_null(out, "out"), *check_not_null(x, "x"), y,
                      shape, ndim, axes, s, at_once != 0);
    });
    return done ? status : CUPOLA_WOULD_WAIT;
}
