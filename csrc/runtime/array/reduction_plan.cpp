// csrc/runtime/array/reduction_plan.cpp - chooses the kernels and pieces that reduce an array.
//
// Rows (contiguous elements of one result) and columns (neighbours belong to different results)
// have kernels for each stored type; the strided kernels do the rest. Piece sizes depend on the
// shape only, never on the device, so that sums have the same bits everywhere.
#include "runtime/array/reduction_plan.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "runtime/array/operation.hpp"
#include "runtime/copy/loop_nest.hpp"
#include "runtime/launch/launch.hpp"

namespace cupola::reducing {
namespace {

using arrays::Reduced;
using arrays::reducers;

bool is_integer(int element) { return element <= elements::u64; }

// The type that elements are accumulated in.
int accumulator(int element) {
    if (element >= elements::i8 && element <= elements::i64) return elements::i64;
    if (element <= elements::u64) return elements::u64;
    return element == elements::f16 ? int{elements::f32} : element;
}

// The type whose kernel reduces such elements: truth values are stored as bytes.
int kernel_element(int element) { return element == elements::b8 ? int{elements::u8} : element; }

int log_ceil(std::uint64_t n) {
    int log = 0;
    while (log < 63 && (std::uint64_t{1} << log) < n) ++log;
    return log;
}

std::uint64_t times_over(std::uint64_t n, std::uint64_t by) { return n / by + (n % by != 0); }

// A stable sort.
void sort_by_stride(std::vector<Axis>& axes) {
    const auto outer = [](const Axis& a, const Axis& b) { return std::abs(a.x) > std::abs(b.x); };
    for (auto axis = axes.begin(); axis != axes.end(); ++axis)
        std::rotate(std::upper_bound(axes.begin(), axis, *axis, outer), axis, axis + 1);
}

// Reduces to as few axes as possible. Order and direction of reduced axes are free, except for
// index reductions.
void simplify(ReductionSpec& p) {
    if (!p.index) {
        for (Axis& axis : p.reduced) {
            if (axis.x >= 0) continue;
            const auto last = static_cast<std::int64_t>(axis.length - 1);
            p.x += static_cast<std::uint64_t>(axis.x * last);
            p.y += static_cast<std::uint64_t>(axis.y * last);
            axis.x = -axis.x;
            axis.y = -axis.y;
        }
        sort_by_stride(p.reduced);
    }
    const auto single = [](const Axis& axis) { return axis.length == 1; };
    p.kept.erase(std::remove_if(p.kept.begin(), p.kept.end(), single), p.kept.end());
    if (!p.indices) sort_by_stride(p.kept);
    merge_axes(p.kept, &Axis::x, &Axis::y, &Axis::out);
    merge_axes(p.reduced, &Axis::x, &Axis::y, &Axis::out);
}

// Whether the kernels of x's stored type accumulate as the computed type requires.
bool is_fast(const ReductionSpec& p) {
    const int x = p.x_element;
    if (p.index) return false;
    if (p.reduce_op >= reductions::minimum) return p.truth || x == p.element;
    if (is_integer(x) && is_integer(p.element)) return true;
    // Sums of narrow integers are exact in 64 bits.
    if (p.mean && is_integer(x) && element_sizes[x] <= 4 && p.element <= elements::f64)
        return p.mean < std::uint64_t{1} << 31;
    return accumulator(x) == accumulator(p.element);
}

// Whether a kernel of that type can store the requested result: see store_result() of reduce.cuh.
bool can_store(int kernel, const Reduced& r) {
    if (kernel == accumulator(kernel)) return true;
    if (r.divide && is_integer(kernel)) return r.out_element == elements::f64;
    return r.out_element == kernel || r.out_element == accumulator(kernel) ||
           r.out_element == elements::b8;
}

// One kernel for each device, form and type; never unloaded.
Kernel& find_kernel(Context& context, Form form, int element, bool no_wait) {
    struct Slots {
        std::atomic<Kernel*> kernels[forms][elements::count];
    };
    constexpr const char* names_of_forms[] = {"rows", "columns", "dot", "strided", "index"};
    static auto* const found = new Slots[max_ordinals]();
    auto& slot = found[context.ordinal].kernels[form][element];
    if (Kernel* kernel = slot.load(std::memory_order_acquire)) return *kernel;
    if (no_wait) throw WouldWait{};  // until its code is loaded
    Kernel& kernel = array_kernel(
        context, std::string("reduce_") + names_of_forms[form] + "_" + element_names[element],
        sizeof(Reduced));
    slot.store(&kernel, std::memory_order_release);
    return kernel;
}

// Log2 of the threads that reduce one segment: a part of a warp, a warp or a block.
int log_threads(std::uint64_t steps) { return steps > 128 ? 8 : std::min(log_ceil(steps), 5); }

constexpr std::uint64_t most_segments = 16384;

// Cuts each result's elements into pieces of `piece` elements, or into larger pieces where one
// launch could not finish the number of pieces.
void cut(Reduced& r, std::uint64_t longest_whole, std::uint64_t piece) {
    r.segments = 1;
    r.segment_length = static_cast<unsigned>(r.length);
    if (r.length <= longest_whole) return;
    while (times_over(r.length, piece) > most_segments) piece *= 2;
    if (piece >> 31) fail(CUPOLA_ERROR_VALUE, "the array has too many elements to reduce");
    r.segment_length = static_cast<unsigned>(piece);
    r.segments = static_cast<unsigned>(times_over(r.length, piece));
}

std::uint64_t blocks_of(const Reduced& r) {
    return times_over(std::uint64_t{r.units} << r.log_width, reducers);
}

// Whether the elements of neighbouring results are closer together than those of one result.
bool is_close(const ReductionSpec& p) {
    return !p.kept.empty() && !p.reduced.empty() &&
           std::abs(p.kept.back().x) < std::abs(p.reduced.back().x);
}

// Whether the kernels can't count the elements of several axes.
bool is_beyond(const ReductionSpec& p) { return p.reduced.size() > 1 && p.length() >> 32; }

// Throws for too many elements: the reduction cannot be split.
void require_few(const ReductionSpec& p, const char* what) {
    if (p.reduced.size() > arrays::reduced_axes || is_beyond(p))
        fail(CUPOLA_ERROR_VALUE, std::string(what) +
                                     " over so many axes or elements needs "
                                     "contiguous elements: copy the array first");
}

// Whether the units may exceed the blocks of a launch. Columns have the most units.
bool is_too_much(const ReductionSpec& p) {
    return p.results() * std::min(most_segments, p.length() / 32 + 1) > 0x7fffffff;
}

}  // namespace

std::uint64_t ReductionSpec::results() const {
    std::uint64_t n = 1;
    for (const Axis& axis : kept) n *= axis.length;
    return n;
}

std::uint64_t ReductionSpec::length() const {
    std::uint64_t n = 1;
    for (const Axis& axis : reduced) n *= axis.length;
    return n;
}

std::uint64_t Plan::scratch(std::uint64_t count, std::size_t size) {
    constexpr std::uint64_t max_no_wait_bytes = 64 << 20;  // the pool may have to wait for more
    if (no_wait_ && (!stream_.context.pool || stream_.handle == CU_STREAM_PER_THREAD ||
                     count * size > max_no_wait_bytes || queue_may_wait(stream_)))
        throw WouldWait{};  // to allocate, or later to free
    scratch_.push_back(make<DeviceMemory>(stream_.context, count * size, stream_));
    return scratch_.back()->address;
}

void Plan::push(Form form, int element, const Reduced& arguments, std::uint64_t blocks) {
    Kernel& kernel = find_kernel(stream_.context, form, element, no_wait_);
    if (no_wait_ && launch_may_wait(kernel, stream_)) throw WouldWait{};
    steps_.push_back({&kernel, arguments, static_cast<std::uint32_t>(blocks)});
}

void Plan::launch() {
    for (Step& step : steps_)
        step.kernel->launch({{step.blocks, 1, 1}, {reducers, 1, 1}, 0}, nullptr, &step.arguments,
                            stream_);
}

// All arguments except those that depend on the form.
Reduced Plan::arguments_of(const ReductionSpec& p) const {
    Reduced r{};
    r.x = p.x;
    r.y = p.index ? p.indices : p.y;
    r.out = p.out;
    r.length = p.length();
    r.divide = p.mean;
    r.joint = p.reduce_op;
    r.truth = p.truth || p.x_element == elements::b8;
    r.x_element = p.x_element;
    r.y_element = p.y_element;
    r.out_element = p.out_element;
    r.kept = static_cast<int>(p.kept.size());
    r.reduced = static_cast<int>(p.reduced.size());
    for (int i = 0; i < r.kept; ++i) {
        const Axis& axis = p.kept[p.kept.size() - 1 - static_cast<std::size_t>(i)];
        r.kept_lengths[i] = axis.length;
        r.kept_x[i] = axis.x;
        r.kept_out[i] = axis.out;
    }
    for (int i = 0; i < r.reduced; ++i) {
        const Axis& axis = p.reduced[p.reduced.size() - 1 - static_cast<std::size_t>(i)];
        r.reduced_lengths[i] = axis.length;
        r.reduced_x[i] = axis.x;
        r.reduced_y[i] = axis.y;
    }
    return r;
}

// Reduces the partial results of row and strided kernels, which are contiguous for each result.
void Plan::add_finish(const ReductionSpec& p, const Reduced& partial, int accumulated) {
    ReductionSpec rest = p;
    const auto size = static_cast<std::int64_t>(element_sizes[accumulated]);
    const auto segments = static_cast<std::int64_t>(partial.segments);
    rest.x = partial.partial;
    rest.y = 0;
    rest.indices = partial.indices;
    rest.x_element = rest.element = accumulated;
    rest.reduced = {{partial.segments, size, 0, 0}};
    std::int64_t step = size * segments;
    for (std::size_t i = rest.kept.size(); i-- > 0;) {
        rest.kept[i].x = step;
        step *= static_cast<std::int64_t>(rest.kept[i].length);
    }
    add(std::move(rest));
}

void Plan::add_rows(const ReductionSpec& p, bool product) {
    constexpr std::uint64_t whole = 128 << 10, piece = 64 << 10;  // bytes
    Reduced r = arguments_of(p);
    // Products of integers have the same bits with and without a sign.
    int kernel = kernel_element(p.x_element);
    if (product && kernel <= elements::i64) kernel += elements::u8 - elements::i8;
    const std::uint64_t size = element_sizes[kernel];
    r.log_width = log_threads(times_over(r.length * size, arrays::in_flight * arrays::row_pack));
    cut(r, whole / size, piece / size);
    r.units = static_cast<unsigned>(p.results() * r.segments);
    if (product && r.out_element >= elements::i8 && r.out_element <= elements::i64)
        r.out_element += elements::u8 - elements::i8;  // the same bits
    const bool finished = r.segments == 1 && can_store(kernel, r);
    if (!finished) {
        r.out = r.divide = 0;
        r.partial = scratch(r.units, element_sizes[accumulator(kernel)]);
    }
    push(product ? dot : rows, kernel, r, blocks_of(r));
    if (!finished) add_finish(p, r, accumulator(kernel));
}

void Plan::add_columns(const ReductionSpec& p) {
    constexpr std::uint64_t rows_of_a_thread = 32;
    ReductionSpec planes = p;
    const Axis column = planes.kept.back();
    planes.kept.pop_back();
    Reduced r = arguments_of(planes);
    const int kernel = kernel_element(p.x_element);
    const std::uint64_t size = element_sizes[kernel];
    const std::uint64_t n = arrays::column_pack(static_cast<unsigned>(size)) / size;
    r.columns = column.length;
    r.column_step = column.out;
    r.column_x = column.x;
    r.row_step = p.reduced[0].x;
    r.log_width = std::max(std::min(log_ceil(times_over(r.columns, n)), 5),
                           8 - std::min(log_ceil(r.length), 8));
    const std::uint64_t piece = rows_of_a_thread * (reducers >> r.log_width);
    cut(r, 2 * piece, piece);
    r.tiles = static_cast<unsigned>(times_over(r.columns, n << r.log_width));
    r.units = static_cast<unsigned>(planes.results() * r.segments * r.tiles);
    const bool finished = r.segments == 1 && can_store(kernel, r);
    const int accumulated = accumulator(kernel);
    if (!finished) {
        r.out = r.divide = 0;
        r.partial = scratch(planes.results() * r.segments * r.columns, element_sizes[accumulated]);
    }
    push(columns, kernel, r, r.units);
    if (finished) return;
    ReductionSpec rest = p;
    const auto step = static_cast<std::int64_t>(element_sizes[accumulated]);
    const auto row = static_cast<std::int64_t>(r.columns) * step;
    rest.x = r.partial;
    rest.x_element = rest.element = accumulated;
    rest.reduced = {{r.segments, row, 0, 0}};
    rest.kept.back().x = step;
    std::int64_t plane = row * static_cast<std::int64_t>(r.segments);
    for (std::size_t i = rest.kept.size() - 1; i-- > 0;) {
        rest.kept[i].x = plane;
        plane *= static_cast<std::int64_t>(rest.kept[i].length);
    }
    add(std::move(rest));
}

// The logarithm of the number of threads for each result. It is 0 for many short results whose
// neighbours are close: adjacent threads then read adjacent memory.
int log_threads_anywhere(const ReductionSpec& p) {
    const std::uint64_t length = p.length();
    if (is_close(p) && p.results() >= 4096 && length <= 1024) return 0;
    return log_threads(times_over(length, arrays::in_flight));
}

void Plan::add_strided(const ReductionSpec& p) {
    require_few(p, "a product");
    const int kernel = accumulator(p.element);
    Reduced r = arguments_of(p);
    r.log_width = log_threads_anywhere(p);
    cut(r, 65536, 16384);
    r.units = static_cast<unsigned>(p.results() * r.segments);
    if (r.segments > 1) {
        r.out = r.divide = 0;
        r.partial = scratch(r.units, element_sizes[kernel]);
    }
    push(strided, kernel, r, blocks_of(r));
    if (r.segments > 1) add_finish(p, r, kernel);
}

void Plan::add_index(const ReductionSpec& p) {
    require_few(p, "an index");
    const int kernel = accumulator(p.x_element);
    Reduced r = arguments_of(p);
    r.log_width = log_threads_anywhere(p);
    cut(r, 65536, 16384);
    r.units = static_cast<unsigned>(p.results() * r.segments);
    if (r.segments > 1) {
        r.out = 0;
        r.partial = scratch(r.units, element_sizes[kernel]);
        r.indices = scratch(r.units, sizeof(std::int64_t));
    }
    push(index, kernel, r, blocks_of(r));
    if (r.segments > 1) add_finish(p, r, kernel);
}

// Reduces along one axis into scratch memory, then along the other axes.
void Plan::add_one_axis(const ReductionSpec& p, std::size_t which) {
    ReductionSpec first = p, rest = p;
    const Axis axis = p.reduced[which];
    const int accumulated = is_fast(p) ? accumulator(p.x_element) : accumulator(p.element);
    const auto size = static_cast<std::int64_t>(element_sizes[accumulated]);
    rest.reduced.erase(rest.reduced.begin() + static_cast<std::ptrdiff_t>(which));
    std::int64_t step = size;
    for (std::vector<Axis>* axes : {&rest.reduced, &rest.kept})
        for (std::size_t i = axes->size(); i-- > 0;) {
            (*axes)[i].x = step;
            (*axes)[i].y = 0;
            step *= static_cast<std::int64_t>((*axes)[i].length);
        }
    rest.x = scratch(static_cast<std::uint64_t>(step / size), element_sizes[accumulated]);
    rest.x_element = rest.element = accumulated;
    first.reduced = {axis};
    for (std::size_t i = 0; i < first.kept.size(); ++i) first.kept[i].out = rest.kept[i].x;
    for (std::size_t i = 0, k = 0; i < p.reduced.size(); ++i) {
        if (i == which) continue;
        first.kept.push_back(p.reduced[i]);
        first.kept.back().out = rest.reduced[k++].x;
    }
    first.out = rest.x;
    first.out_element = accumulated;
    first.mean = 0;
    add(std::move(first));
    add(std::move(rest));
}

void Plan::add(ReductionSpec p) {
    simplify(p);
    if (p.kept.size() > arrays::reduced_axes) {  // loop over the outermost here
        if (no_wait_) throw WouldWait{};         // the queue may lack room for all launches
        const Axis outer = p.kept.front();
        p.kept.erase(p.kept.begin());
        for (std::uint64_t i = 0; i < outer.length; ++i) {
            add(p);
            p.x += static_cast<std::uint64_t>(outer.x);
            p.out += static_cast<std::uint64_t>(outer.out);
        }
        return;
    }
    if (is_too_much(p)) {
        ReductionSpec half = p;
        Axis &first = half.kept.front(), &second = p.kept.front();
        first.length /= 2;
        second.length -= first.length;
        p.x += first.length * static_cast<std::uint64_t>(first.x);
        p.out += first.length * static_cast<std::uint64_t>(first.out);
        p.indices += p.indices ? half.results() * p.length() * sizeof(std::int64_t) : 0;
        add(std::move(half));
        add(std::move(p));
        return;
    }
    if (p.index) return add_index(p);
    const bool product = p.y != 0, fast = is_fast(p);
    const auto size = static_cast<std::int64_t>(element_sizes[p.x_element]);
    const bool in_order = p.reduced.empty() || (p.reduced.size() == 1 && p.reduced[0].x == size);
    if (product) {
        const bool alike = p.x_element == p.element && p.y_element == p.element;
        const bool y_in_order = p.reduced.empty() || p.reduced[0].y == size;
        return alike && in_order && y_in_order ? add_rows(p, true) : add_strided(p);
    }
    const bool side_by_side = !p.kept.empty() && p.kept.back().x == size;
    if (fast && in_order) return add_rows(p, false);
    // A block reduces strided columns where they have elements for most of its threads.
    const bool strided_columns = is_close(p) && p.kept.back().length * p.length() >= 4 * reducers;
    if (fast && p.reduced.size() == 1 && (side_by_side || strided_columns)) return add_columns(p);
    if (p.reduced.size() > 1) {
        if (fast && p.reduced.back().x == size && p.reduced.back().length >= 16)
            return add_one_axis(p, p.reduced.size() - 1);
        const bool many = p.reduced.size() > arrays::reduced_axes || is_beyond(p);
        if ((fast && side_by_side) || many) {
            const auto longest =
                std::max_element(p.reduced.begin(), p.reduced.end(),
                                 [](const Axis& a, const Axis& b) { return a.length < b.length; });
            return add_one_axis(p, static_cast<std::size_t>(longest - p.reduced.begin()));
        }
    }
    add_strided(p);
}

}  // namespace cupola::reducing
