// csrc/runtime/array/reduction_plan.hpp - which kernels reduce an array, in which pieces.
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
    std::int64_t x, y, out;  // bytes from one element to the next
};

// What is to be reduced, with the outermost axes first.
struct ReductionSpec {
    int joint = 0;           // of reductions::Joint
    bool truth = false;      // whether elements are true
    bool index = false;      // where, not what
    std::uint64_t mean = 0;  // of how many; 0: no mean
    int element = 0;         // the type it is done in
    int x_element = 0, y_element = 0, out_element = 0;
    std::uint64_t x = 0, y = 0, out = 0;
    std::vector<Axis> kept, reduced;
    std::uint64_t indices = 0;  // of partial results

    std::uint64_t results() const;
    std::uint64_t length() const;
};

// Something would have to be waited for, and must not be.
struct WouldWait {};

// By what a kernel is named, before its type.
enum Form { rows, columns, dot, strided, index, forms };

// Everything that one reduction launches, made before any of it is launched.
class Plan {
  public:
    Plan(Stream& stream, bool at_once) : stream_(stream), at_once_(at_once) {}
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
    bool at_once_;
    std::vector<Step> steps_;
    std::vector<Ref<DeviceMemory>> scratch_;  // freed behind the launches
};

}  // namespace cupola::reducing
