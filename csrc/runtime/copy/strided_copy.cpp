// csrc/runtime/copy/strided_copy.cpp - reduces strided copies to few axes and queues them.
//
// A copy is reduced to as few axes as possible. The driver then does linear and pitched copies; a
// shipped kernel does the rest.
#include "runtime/copy/strided_copy.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/strided.h"
#include "runtime/context/capture.hpp"
#include "runtime/context/work_observer.hpp"
#include "runtime/copy/copy.hpp"
#include "runtime/copy/loop_nest.hpp"
#include "runtime/launch/launch.hpp"
#include "runtime/memory/memory.hpp"
#include "runtime/module/shipped.hpp"

namespace cupola {
namespace {

struct CopyAxis {
    std::uint64_t length;
    std::int64_t to, from;  // strides in bytes
};

struct StridedRegion {
    std::uint64_t to, from;      // addresses
    std::vector<CopyAxis> axes;  // the outermost first; the last is of bytes, with strides of 1
};

// The shortest rows that the driver copies. For shorter rows a kernel, or a contiguous copy of the
// host memory, is faster.
constexpr std::uint64_t min_row = 512;
constexpr std::int64_t max_pitch = 0x7fffffff;  // MAX_PITCH of every device

// The region has no axes where there is nothing to copy.
StridedRegion merged_region(const cupola_strided& to, const cupola_strided& from,
                            const std::int64_t* shape, int ndim, std::size_t itemsize) {
    StridedRegion region{to.address, from.address, {}};
    for (int i = 0; i < ndim; ++i) {
        if (shape[i] < 0) fail(CUPOLA_ERROR_VALUE, "a shape has a negative size");
        if (shape[i] == 0) return {to.address, from.address, {}};
        if (shape[i] == 1) continue;
        CopyAxis axis{static_cast<std::uint64_t>(shape[i]), to.strides[i], from.strides[i]};
        if (axis.to == 0)
            fail(CUPOLA_ERROR_VALUE, "the destination's elements overlap: it has a stride of 0");
        require_reach(axis.to, axis.length);
        require_reach(axis.from, axis.length);
        if (axis.to < 0) {  // start at the other end of the axis
            const auto last = static_cast<std::int64_t>(axis.length - 1);
            region.to += static_cast<std::uint64_t>(axis.to * last);
            region.from += static_cast<std::uint64_t>(axis.from * last);
            axis.to = -axis.to;
            axis.from = -axis.from;
        }
        region.axes.push_back(axis);
    }
    if (itemsize == 0) return {to.address, from.address, {}};
    std::sort(region.axes.begin(), region.axes.end(),
              [](const CopyAxis& a, const CopyAxis& b) { return a.to > b.to; });
    region.axes.push_back({itemsize, 1, 1});
    merge_axes(region.axes, &CopyAxis::to, &CopyAxis::from);
    return region;
}

bool is_pitch(std::int64_t stride, std::uint64_t row) {
    return stride >= static_cast<std::int64_t>(row) && stride <= max_pitch;
}

// Whether one driver call copies the region, as rows or as slices of rows.
bool is_pitched(const StridedRegion& region) {
    const std::size_t n = region.axes.size();
    if (n != 2 && n != 3) return false;
    const std::uint64_t row = region.axes[n - 1].length;
    const CopyAxis& rows = region.axes[n - 2];
    if (row < min_row || !is_pitch(rows.to, row) || !is_pitch(rows.from, row)) return false;
    if (n == 2) return true;
    const auto whole = [&](std::int64_t slice, std::int64_t pitch) {
        return slice % pitch == 0 && slice / pitch >= static_cast<std::int64_t>(rows.length);
    };
    return whole(region.axes[0].to, rows.to) && whole(region.axes[0].from, rows.from);
}

CUmemorytype space(bool host) { return host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE; }
void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(std::uintptr_t(address)); }

void copy_pitched(const StridedRegion& region, int direction, const Stream& stream) {
    Capture::require_contents(stream, {region.to, region.from});
    const std::size_t n = region.axes.size();
    const CopyAxis& rows = region.axes[n - 2];
    if (stream.context.driver->debug()) {
        const std::uint64_t row = region.axes[n - 1].length,
                            slices = n == 3 ? region.axes[0].length : 1;
        log_copy(region.to, region.from, row * rows.length * slices, direction, stream,
                 " in rows of " + std::to_string(row));
    }
    std::size_t bytes = 1;
    for (const CopyAxis& axis : region.axes) bytes *= axis.length;
    const Span span = span_of_copy(direction, bytes, stream);
    const bool to_host = direction == CUPOLA_TO_HOST, from_host = direction == CUPOLA_TO_DEVICE;
    const auto fill = [&](auto& it) {
        it.dstMemoryType = space(to_host);
        it.srcMemoryType = space(from_host);
        if (to_host)
            it.dstHost = pointer(region.to);
        else
            it.dstDevice = region.to;
        if (from_host)
            it.srcHost = pointer(region.from);
        else
            it.srcDevice = region.from;
        it.dstPitch = static_cast<std::size_t>(rows.to);
        it.srcPitch = static_cast<std::size_t>(rows.from);
        it.WidthInBytes = region.axes[n - 1].length;
        it.Height = rows.length;
    };
    if (n == 2) {
        CUDA_MEMCPY2D it{};
        fill(it);
        CUPOLA_CALL(stream.context.driver, cuMemcpy2DAsync, &it, stream.handle);
    } else {
        CUDA_MEMCPY3D it{};
        fill(it);
        it.dstHeight = static_cast<std::size_t>(region.axes[0].to / rows.to);
        it.srcHeight = static_cast<std::size_t>(region.axes[0].from / rows.from);
        it.Depth = region.axes[0].length;
        CUPOLA_CALL(stream.context.driver, cuMemcpy3DAsync, &it, stream.handle);
    }
}

// The largest unit that divides all addresses and strides: the bytes that a thread moves at a time.
unsigned unit_of(const StridedRegion& region) {
    std::uint64_t all = region.to | region.from | region.axes.back().length | 16;
    for (std::size_t i = 0; i + 1 < region.axes.size(); ++i)
        all |= static_cast<std::uint64_t>(region.axes[i].to) |
               static_cast<std::uint64_t>(region.axes[i].from);
    return static_cast<unsigned>(all & (~all + 1));
}

// One kernel for each device, form and unit, never unloaded, like the shipped module.
Kernel& kernel_of(Context& context, bool runs, unsigned unit) {
    static auto* const kernels = new std::atomic<Kernel*>[max_ordinals][2][5]();
    const int place = unit == 1 ? 0 : unit == 2 ? 1 : unit == 4 ? 2 : unit == 8 ? 3 : 4;
    auto& slot = kernels[context.ordinal][runs][place];
    if (Kernel* kernel = slot.load(std::memory_order_acquire)) return *kernel;
    auto made = make<Kernel>(shipped_module(context),
                             (runs ? "copy_runs_" : "copy_strided_") + std::to_string(unit));
    Kernel* before = nullptr;
    if (slot.compare_exchange_strong(before, made.get())) return *made.detach();
    return *before;
}

struct Arguments {  // the arguments of copy_strided_* and copy_runs_*, in C layout
    std::uint64_t to, from;
    strided::Axes axes;
};

// The shortest runs that are stored in packs: those of shorter runs would have few units.
constexpr std::uint64_t shortest_run = 4 * strided::pack;

// Sets the axes of a kernel that copies such units, and the number of its threads.
std::uint64_t lay_out(strided::Axes& axes, const std::vector<CopyAxis>& from, std::uint64_t to,
                      unsigned unit) {
    std::uint64_t run = 1, units = 1, unaligned = to;
    bool follows = unit < strided::pack;
    axes.run = 0;
    axes.count = static_cast<int>(from.size());
    for (int i = 0; i < axes.count; ++i) {
        const CopyAxis& axis = from[from.size() - 1 - static_cast<std::size_t>(i)];
        axes.each[i] = {axis.to, axis.from, divisor(axis.length)};
        units *= axis.length;
        follows = follows && i < 2 && axis.to == static_cast<std::int64_t>(run * unit);
        if (follows)
            axes.run = i + 1, run = units;
        else
            unaligned |= static_cast<std::uint64_t>(axis.to);
    }
    axes.units = static_cast<std::uint32_t>(units);
    if (run * unit < shortest_run) axes.run = 0;
    if (!axes.run) return units;
    // The packs of a run are aligned, so a run may begin and end within a pack.
    const std::uint64_t lanes = strided::pack / unit;
    const std::uint64_t packs =
        (run + (unaligned % strided::pack ? 2 * lanes - 2 : lanes - 1)) / lanes;
    axes.runs = static_cast<std::uint32_t>(units / run);
    axes.run_units = static_cast<std::uint32_t>(run);
    axes.packs = divisor(packs);
    return axes.runs * packs;
}

// `axes` counts units. The kernel takes a limited number of axes and of units: this function loops
// over the outermost axis where there are more axes, and halves that axis where there are more
// units.
void copy_units(std::uint64_t to, std::uint64_t from, std::vector<CopyAxis> axes, unsigned unit,
                Stream& stream) {
    std::uint64_t units = 1;
    for (const CopyAxis& axis : axes) units *= axis.length;
    const bool loops = axes.size() > strided::most_axes;
    if (loops || units > strided::most_units) {
        const CopyAxis outer = axes.front();
        const std::uint64_t part = loops ? 1 : (outer.length + 1) / 2;
        for (std::uint64_t i = 0; i < outer.length; i += part) {
            axes.front().length = std::min(part, outer.length - i);
            std::vector<CopyAxis> rest = axes;
            if (rest.front().length == 1 && rest.size() > 1) rest.erase(rest.begin());
            copy_units(to + i * static_cast<std::uint64_t>(outer.to),
                       from + i * static_cast<std::uint64_t>(outer.from), std::move(rest), unit,
                       stream);
        }
        return;
    }
    Arguments arguments{to, from, {}};
    const std::uint64_t tasks = lay_out(arguments.axes, axes, to, unit);
    Kernel& kernel = kernel_of(stream.context, arguments.axes.run > 0, unit);
    if (kernel.parameter_bytes != sizeof arguments)
        fail(CUPOLA_ERROR_IMAGE, kernel.name +
                                     ": its parameters in the shipped image differ from those "
                                     "expected: the build is inconsistent");
    constexpr std::uint64_t threads = 256, most_blocks = 1 << 20;
    const std::uint64_t blocks = std::min((tasks + threads - 1) / threads, most_blocks);
    const cupola_dimensions dimensions{
        {static_cast<std::uint32_t>(blocks), 1, 1}, {threads, 1, 1}, 0};
    kernel.launch(dimensions, nullptr, &arguments, stream);
}

void copy_any(const StridedRegion& region, Stream& stream) {
    const unsigned unit = unit_of(region);
    std::vector<CopyAxis> axes = region.axes;
    axes.back() = {axes.back().length / unit, unit, unit};
    if (axes.back().length == 1 && axes.size() > 1) axes.pop_back();
    copy_units(region.to, region.from, std::move(axes), unit, stream);
}

// Recorded work has linear copies and launches alone.
bool copy(const StridedRegion& region, int direction, Stream& stream) {
    if (region.axes.empty()) return true;
    ContextScope current(stream.context);
    if (region.axes.size() == 1)
        copy_linear(region.to, region.from, region.axes[0].length, direction, stream);
    else if (is_pitched(region) && !WorkObserver::of(stream.context.driver))
        copy_pitched(region, direction, stream);
    else if (direction == CUPOLA_ON_DEVICE)
        copy_any(region, stream);
    else
        return false;
    return true;
}

// The width (1, 2 or 4 bytes) of the pattern that repeats in the element, with its value; 0 where
// there is none.
int pattern_of(const unsigned char* element, std::size_t size, std::uint32_t& value) {
    for (std::size_t width : {1, 2, 4}) {
        if (size % width) continue;
        std::size_t i = width;
        while (i < size && element[i] == element[i - width]) ++i;
        if (i < size) continue;
        value = 0;
        std::memcpy(&value, element, width);
        return static_cast<int>(width);
    }
    return 0;
}

// Writes one element to device memory. Small elements are passed by value, in fills. Inside a
// capture large elements are fills as well: their host memory may be freed before the graph's
// launch.
void put_element(std::uint64_t to, const unsigned char* element, std::size_t size, Stream& stream) {
    constexpr std::size_t most = 64;
    if (size > most && !stream.flight.capturing())
        return copy_linear(to, reinterpret_cast<std::uintptr_t>(element), size, CUPOLA_TO_DEVICE,
                           stream);
    std::size_t at = 0;
    for (std::size_t width : {4, 2, 1})
        for (; size - at >= width; at += width) {
            std::uint32_t value = 0;
            std::memcpy(&value, element + at, width);
            fill_linear(to + at, value, static_cast<int>(width), 1, stream);
        }
}

}  // namespace

bool copy_strided(const cupola_strided& to, const cupola_strided& from, const std::int64_t* shape,
                  int ndim, std::size_t itemsize, int direction, Stream& stream) {
    return copy(merged_region(to, from, shape, ndim, itemsize), direction, stream);
}

void fill_strided(const cupola_strided& to, const std::int64_t* shape, int ndim,
                  const unsigned char* element, std::size_t size, Stream& stream) {
    ContextScope current(stream.context);
    const StridedRegion whole = merged_region(to, to, shape, ndim, size);
    if (whole.axes.empty()) return;
    std::uint32_t value = 0;
    const int width = pattern_of(element, size, value);
    // The driver fills aligned words only.
    if (whole.axes.size() == 1 && width && whole.to % std::size_t(width) == 0)
        return fill_linear(whole.to, value, width, whole.axes[0].length / std::size_t(width),
                           stream);
    const auto one = make<DeviceMemory>(stream.context, size, stream);
    put_element(one->address, element, size, stream);
    const std::vector<std::int64_t> still(static_cast<std::size_t>(ndim), 0);
    copy(merged_region(to, {one->address, still.data()}, shape, ndim, size), CUPOLA_ON_DEVICE,
         stream);
    // The graph reads the value at each launch.
    if (const auto capture = Capture::of(stream))
        capture->retained->hold(Ref<Object>::share(one.get()));
}

}  // namespace cupola
