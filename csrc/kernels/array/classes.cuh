// csrc/kernels/array/classes.cuh - the two classes of operations that share a kernel: their result
// types, and the dispatch that passes the launch's functor to `use`.
#pragma once

#include "integers.cuh"
#include "predicate.cuh"

namespace cupola::arrays {

struct Arithmetic {
    template <class S>
    using Result = S;
    template <class T, int = 0, class Use>
    __device__ static void choose(int operation, Use use) {
        using namespace operations::kinds;
        switch (operation) {
#define CUPOLA_ROW(name, kinds)                                           \
    case operations::arithmetic::name:                                    \
        if constexpr (((kinds)&kind_of<T>) != 0) use(arithmetic::name{}); \
        break;
            CUPOLA_ARITHMETIC(CUPOLA_ROW)
#undef CUPOLA_ROW
        }
    }
};

// `only` restricts the choice to operations with that many operands, unless it is 0.
struct Predicate {
    template <class S>
    using Result = b8;
    template <class T, int only = 0, class Use>
    __device__ static void choose(int operation, Use use) {
        using namespace operations::kinds;
        switch (operation) {
#define CUPOLA_ROW(name, operands, kinds)                                           \
    case operations::predicate::name:                                               \
        if constexpr (((kinds)&kind_of<T>) != 0 && (only == 0 || only == operands)) \
            use(predicate::name{});                                                 \
        break;
            CUPOLA_PREDICATES(CUPOLA_ROW)
#undef CUPOLA_ROW
        }
    }
};

}  // namespace cupola::arrays
