// csrc/runtime/array/reduction_plan.hpp - the kernels and pieces that reduce an array.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/array/elements.h"
#include "kernels/array/reductions.h"
#include "runtime/memory/memory.hpp"
#include "runtime/module/kernel.hpp"

namespace cupola::reducing {

struct Axis {
    std::uint64_t length;
    std::int64_t x, y, out;  // strides in bytes
};

// One reduction; axes are listed outermost first.
struct ReductionSpec {
    int reduce_op = 0;       // a value of reductions::Joint
    bool truth = false;      // reduces the elements' truth values
    bool index = false;      // the result is an index
    std::uint64_t mean = 0;  // elements to average over; 0: no mean
    int element = 0;         // the computed type
    int x_element = 0, y_element = 0, out_element = 0;
    std::uint64_t x = 0, y = 0, out = 0;
    std::vector<Axis> kept, reduced;
    std::uint64_t indices = 0;  // address of the indices of partial results

    std::uint64_t results() const;
    std::uint64_t length() const;
};

// Thrown where a call that must not wait would have to.
struct WouldWait {};

// The forms of kernels, in the order of their names.
enum Form { rows, columns, dot, strided, index, forms };

// All launches of one reduction, prepared before the first of them.
class Plan {
  public:
    Plan(Stream& stream, bool no_wait) : stream_(stream), no_wait_(no_wait) {}
    void add(ReductionSpec problem);
    void launch();

  private:
    struct Step {
        Kernel* kernel;
        arrays::Reduced arguments;
        std::uint32_t blocks;
    };
    void add_strided(const ReductionSpec& problem);
    void add_index(const ReductionSpec& problem);
    void add_rows(const ReductionSpec& problem, bool product);
    void add_columns(const ReductionSpec& problem);
    void add_one_axis(const ReductionSpec& problem, std::size_t axis);
    void add_finish(const ReductionSpec& problem, const arrays::Reduced& arguments,
                    int accumulator);
    arrays::Reduced arguments_of(const ReductionSpec& problem) const;
    void push(Form form, int element, const arrays::Reduced& arguments, std::uint64_t blocks);
    std::uint64_t scratch(std::uint64_t count, std::size_t size);

    Stream& stream_;
    bool no_wait_;
    std::vector<Step> steps_;
    std::vector<Ref<DeviceMemory>> scratch_;  // freed in stream order after the launches
};

}  // namespace cupola::reducing
