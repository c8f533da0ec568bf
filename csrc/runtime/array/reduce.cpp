// csrc/runtime/array/reduce.cpp - checks the request to reduce an array along axes.
#include "runtime/array/reduce.hpp"

#include "runtime/array/reduction_plan.hpp"
#include "runtime/base/error.hpp"
#include "runtime/copy/loop_nest.hpp"

namespace cupola {
namespace {

using reducing::Axis;
using reducing::ReductionSpec;

void require_element(int element, const char* name) {
    if (element <= elements::none || element >= elements::count)
        fail(CUPOLA_ERROR_TYPE,
             std::string(name) + " has no element type " + std::to_string(element));
}

void set_operation(ReductionSpec& problem, int reduction) {
    switch (reduction) {
        case CUPOLA_SUM:
        case CUPOLA_MEAN:
        case CUPOLA_DOT:
            problem.reduce_op = reductions::add;
            return;
        case CUPOLA_PRODUCT:
            problem.reduce_op = reductions::multiply;
            return;
        case CUPOLA_ANY:
        case CUPOLA_ALL:
            problem.reduce_op = reduction == CUPOLA_ANY ? reductions::maximum : reductions::minimum;
            problem.truth = true;
            return;
        case CUPOLA_MINIMUM:
        case CUPOLA_MAXIMUM:
            problem.reduce_op =
                reduction == CUPOLA_MINIMUM ? reductions::minimum : reductions::maximum;
            return;
        case CUPOLA_INDEX_OF_MINIMUM:
        case CUPOLA_INDEX_OF_MAXIMUM:
            problem.reduce_op =
                reduction == CUPOLA_INDEX_OF_MINIMUM ? reductions::minimum : reductions::maximum;
            problem.index = true;
            return;
        default:
            fail(CUPOLA_ERROR_VALUE, "there is no reduction " + std::to_string(reduction));
    }
}

// False where there are no results.
bool set_axes(ReductionSpec& problem, const cupola_operand& out, const cupola_operand& x,
              const cupola_operand* y, const std::int64_t* shape, int ndim, std::uint64_t axes) {
    bool any = true;
    for (int i = 0; i < ndim; ++i) {
        const bool reduced = axes >> i & 1;
        if (shape[i] < 0) fail(CUPOLA_ERROR_VALUE, "a shape has a negative size");
        if (shape[i] == 0 && reduced)
            fail(CUPOLA_ERROR_VALUE, "axis " + std::to_string(i) + ", which is reduced, is empty");
        if (shape[i] == 0) any = false;
        if (shape[i] <= 1) continue;
        Axis axis{static_cast<std::uint64_t>(shape[i]), x.strides[i], 0, 0};
        if (reduced && y) axis.y = y->strides[i];
        if (!reduced) axis.out = out.strides[i];
        if (!reduced && axis.out == 0)
            fail(CUPOLA_ERROR_VALUE, "the results overlap: out has a stride of 0");
        for (std::int64_t step : {axis.x, axis.y, axis.out}) require_reach(step, axis.length);
        (reduced ? problem.reduced : problem.kept).push_back(axis);
    }
    return any;
}

}  // namespace

bool reduce(int reduction, int element, const cupola_operand& out, const cupola_operand& x,
            const cupola_operand* y, const std::int64_t* shape, int ndim, std::uint64_t axes,
            Stream& stream, bool no_wait) {
    ReductionSpec problem;
    set_operation(problem, reduction);
    if (ndim < 0 || ndim > 64) fail(CUPOLA_ERROR_VALUE, "an array has at most 64 axes");
    if ((reduction == CUPOLA_DOT) != (y != nullptr))
        fail(CUPOLA_ERROR_VALUE,
             "y is the second factor of a dot product: pass it there, and null for other "
             "reductions");
    require_element(element, "the reduction");
    require_element(out.element, "out");
    require_element(x.element, "x");
    if (y) require_element(y->element, "y");
    if (problem.index && out.element != elements::i64)
        fail(CUPOLA_ERROR_TYPE, "indices need an output of int64");
    if (!set_axes(problem, out, x, y, shape, ndim, axes)) return true;
    problem.element = element;
    problem.x_element = x.element;
    problem.out_element = out.element;
    problem.x = x.address;
    problem.out = out.address;
    if (y) {
        problem.y_element = y->element;
        problem.y = y->address;
    }
    if (reduction == CUPOLA_MEAN) problem.mean = problem.length();
    reducing::Plan plan(stream, no_wait);
    try {
        plan.add(std::move(problem));
    } catch (const reducing::WouldWait&) {
        return false;
    }
    plan.launch();
    return true;
}

}  // namespace cupola
