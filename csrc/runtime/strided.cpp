// csrc/runtime/strided.cpp - copies and fills of elements that do not follow each other.
//
// A copy is reduced to as few axes as it can be done with. What is left is linear, rows or slices
// at a pitch, which the driver copies, or anything else, which a shipped kernel does.
#include <algorithm>
#include <cstring>

#include "runtime/axes.hpp"
#include "runtime/capture.hpp"
#include "runtime/copy.hpp"
#include "runtime/kernel.hpp"
#include "runtime/memory.hpp"

namespace cupola {
namespace {

struct CopyAxis {
    std::uint64_t length;
    std::int64_t to, from;  // bytes from one to the next
};

struct Box {
    std::uint64_t to, from;      // addresses
    std::vector<CopyAxis> axes;  // the outermost first; the last is of bytes, with strides of 1
};

// csrc/kernels/strided.cu has the same.
struct StridedAxes {
    std::uint64_t length[8];
    std::int64_t to[8], from[8];
    int count;
};
constexpr std::size_t most_copy_axes = 8;

// Shorter rows are copied faster by a kernel, or from host memory that was made contiguous.
constexpr std::uint64_t least_row = 512;
constexpr std::int64_t most_pitch = 0x7fffffff;  // what every device's MAX_PITCH is

// No axes: there is nothing to copy.
Box reduce(const cupola_strided& to, const cupola_strided& from, const std::int64_t* shape,
           int ndim, std::size_t itemsize) {
    Box box{to.address, from.address, {}};
    for (int i = 0; i < ndim; ++i) {
        if (shape[i] < 0) fail(CUPOLA_ERROR_VALUE, "a shape has a negative size");
        if (shape[i] == 0) return {to.address, from.address, {}};
        if (shape[i] == 1) continue;
        CopyAxis axis{static_cast<std::uint64_t>(shape[i]), to.strides[i], from.strides[i]};
        if (axis.to == 0)
            fail(CUPOLA_ERROR_VALUE, "the destination's elements lie over each other");
        require_reach(axis.to, axis.length);
        require_reach(axis.from, axis.length);
        if (axis.to < 0) {  // from the other end
            const auto last = static_cast<std::int64_t>(axis.length - 1);
            box.to += static_cast<std::uint64_t>(axis.to * last);
            box.from += static_cast<std::uint64_t>(axis.from * last);
            axis.to = -axis.to;
            axis.from = -axis.from;
        }
        box.axes.push_back(axis);
    }
    if (itemsize == 0) return {to.address, from.address, {}};
    std::sort(box.axes.begin(), box.axes.end(),
              [](const CopyAxis& a, const CopyAxis& b) { return a.to > b.to; });
    box.axes.push_back({itemsize, 1, 1});
    // An axis whose elements are as far apart as the whole of the next one is a part of it.
    std::vector<CopyAxis> merged{box.axes.back()};
    for (auto axis = box.axes.rbegin() + 1; axis != box.axes.rend(); ++axis) {
        CopyAxis& inner = merged.back();
        const auto length = static_cast<std::int64_t>(inner.length);
        if (axis->to == inner.to * length && axis->from == inner.from * length)
            inner.length *= axis->length;
        else
            merged.push_back(*axis);
    }
    box.axes.assign(merged.rbegin(), merged.rend());
    return box;
}

bool is_pitch(std::int64_t stride, std::uint64_t row) {
    return stride >= static_cast<std::int64_t>(row) && stride <= most_pitch;
}

// Rows, or slices of rows, which one call of the driver copies.
bool is_pitched(const Box& box) {
    const std::size_t n = box.axes.size();
    if (n != 2 && n != 3) return false;
    const std::uint64_t row = box.axes[n - 1].length;
    const CopyAxis& rows = box.axes[n - 2];
    if (row < least_row || !is_pitch(rows.to, row) || !is_pitch(rows.from, row)) return false;
    if (n == 2) return true;
    const auto whole = [&](std::int64_t slice, std::int64_t pitch) {
        return slice % pitch == 0 && slice / pitch >= static_cast<std::int64_t>(rows.length);
    };
    return whole(box.axes[0].to, rows.to) && whole(box.axes[0].from, rows.from);
}

CUmemorytype space(bool host) { return host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE; }
void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(std::uintptr_t(address)); }

void copy_pitched(const Box& box, int direction, const Stream& stream) {
    const std::size_t n = box.axes.size();
    const CopyAxis& rows = box.axes[n - 2];
    if (driver().debug()) {
        const std::uint64_t row = box.axes[n - 1].length, slices = n == 3 ? box.axes[0].length : 1;
        log_copy(box.to, box.from, row * rows.length * slices, direction, stream,
                 " in rows of " + std::to_string(row));
    }
    std::size_t bytes = 1;
    for (const CopyAxis& axis : box.axes) bytes *= axis.length;
    const Span span = span_of_copy(direction, bytes, stream);
    const bool to_host = direction == CUPOLA_TO_HOST, from_host = direction == CUPOLA_TO_DEVICE;
    const auto fill = [&](auto& it) {
        it.dstMemoryType = space(to_host);
        it.srcMemoryType = space(from_host);
        if (to_host)
            it.dstHost = pointer(box.to);
        else
            it.dstDevice = box.to;
        if (from_host)
            it.srcHost = pointer(box.from);
        else
            it.srcDevice = box.from;
        it.dstPitch = static_cast<std::size_t>(rows.to);
        it.srcPitch = static_cast<std::size_t>(rows.from);
        it.WidthInBytes = box.axes[n - 1].length;
        it.Height = rows.length;
    };
    if (n == 2) {
        CUDA_MEMCPY2D it{};
        fill(it);
        CUPOLA_CALL(cuMemcpy2DAsync, &it, stream.handle);
    } else {
        CUDA_MEMCPY3D it{};
        fill(it);
        it.dstHeight = static_cast<std::size_t>(box.axes[0].to / rows.to);
        it.srcHeight = static_cast<std::size_t>(box.axes[0].from / rows.from);
        it.Depth = box.axes[0].length;
        CUPOLA_CALL(cuMemcpy3DAsync, &it, stream.handle);
    }
}

// The most bytes that divide all places: what one thread can move at once.
unsigned unit_of(const Box& box) {
    std::uint64_t all = box.to | box.from | box.axes.back().length | 16;
    for (std::size_t i = 0; i + 1 < box.axes.size(); ++i)
        all |= static_cast<std::uint64_t>(box.axes[i].to) |
               static_cast<std::uint64_t>(box.axes[i].from);
    return static_cast<unsigned>(all & (~all + 1));
}

// One a device and unit, held for good as the shipped module is.
Kernel& kernel_of(Context& context, unsigned unit) {
    static auto* const kernels = new std::atomic<Kernel*>[64][5]();
    const int place = unit == 1 ? 0 : unit == 2 ? 1 : unit == 4 ? 2 : unit == 8 ? 3 : 4;
    auto& slot = kernels[context.ordinal][place];
    if (Kernel* kernel = slot.load(std::memory_order_acquire)) return *kernel;
    auto made = make<Kernel>(shipped_module(context), "copy_strided_" + std::to_string(unit));
    Kernel* before = nullptr;
    if (slot.compare_exchange_strong(before, made.get())) return *made.detach();
    return *before;
}

struct Arguments {  // of copy_strided_*, laid out as C does
    std::uint64_t to, from;
    StridedAxes axes;
    std::uint64_t units;
};

// `box` has few enough axes.
void launch(const Box& box, Stream& stream) {
    const unsigned unit = unit_of(box);
    Arguments arguments{box.to, box.from, {}, 1};
    std::vector<CopyAxis> axes = box.axes;
    axes.back() = {axes.back().length / unit, unit, unit};
    if (axes.back().length == 1 && axes.size() > 1) axes.pop_back();
    for (std::size_t i = 0; i < axes.size(); ++i) {
        arguments.axes.length[i] = axes[i].length;
        arguments.axes.to[i] = axes[i].to;
        arguments.axes.from[i] = axes[i].from;
        arguments.units *= axes[i].length;
    }
    arguments.axes.count = static_cast<int>(axes.size());
    Kernel& kernel = kernel_of(stream.context, unit);
    if (kernel.parameter_bytes != sizeof arguments)
        fail(CUPOLA_ERROR_IMAGE, kernel.name + ": the shipped image has other parameters");
    constexpr std::uint64_t threads = 256, most_blocks = 1 << 20;
    const std::uint64_t blocks = std::min((arguments.units + threads - 1) / threads, most_blocks);
    const cupola_dimensions dimensions{
        {static_cast<std::uint32_t>(blocks), 1, 1}, {threads, 1, 1}, 0};
    kernel.launch(dimensions, nullptr, &arguments, stream);
}

// The kernel takes so many axes; the outermost of more are walked here.
void copy_any(Box box, Stream& stream) {
    if (box.axes.size() <= most_copy_axes) return launch(box, stream);
    const CopyAxis outer = box.axes.front();
    box.axes.erase(box.axes.begin());
    for (std::uint64_t i = 0; i < outer.length; ++i) {
        copy_any(box, stream);
        box.to += static_cast<std::uint64_t>(outer.to);
        box.from += static_cast<std::uint64_t>(outer.from);
    }
}

bool copy(const Box& box, int direction, Stream& stream) {
    if (box.axes.empty()) return true;
    Current current(stream.context);
    if (box.axes.size() == 1)
        copy_linear(box.to, box.from, box.axes[0].length, direction, stream);
    else if (is_pitched(box))
        copy_pitched(box, direction, stream);
    else if (direction == CUPOLA_ON_DEVICE)
        copy_any(box, stream);
    else
        return false;
    return true;
}

// Whether the element is one pattern of 1, 2 or 4 bytes over and over, and which.
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

// An element in device memory. Small ones get there by value, and in a capture all do: the graph
// must not read host memory that is gone when it is launched.
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

void fill_box(const cupola_strided& to, const std::int64_t* shape, int ndim,
              const unsigned char* element, std::size_t size, Stream& stream) {
    Current current(stream.context);
    const Box whole = reduce(to, to, shape, ndim, size);
    if (whole.axes.empty()) return;
    std::uint32_t value = 0;
    const int width = pattern_of(element, size, value);
    if (whole.axes.size() == 1 && width)
        return fill_linear(whole.to, value, width, whole.axes[0].length / std::size_t(width),
                           stream);
    const auto one = make<DeviceMemory>(stream.context, size, stream);
    put_element(one->address, element, size, stream);
    const std::vector<std::int64_t> still(static_cast<std::size_t>(ndim), 0);
    copy(reduce(to, {one->address, still.data()}, shape, ndim, size), CUPOLA_ON_DEVICE, stream);
    // Each launch of the graph reads it.
    if (const auto capture = Capture::of(stream)) capture->box->hold(Ref<Object>::share(one.get()));
}

}  // namespace
}  // namespace cupola

using namespace cupola;

int cupola_copy_strided(const cupola_strided* to, const cupola_strided* from, const int64_t* shape,
                        int ndim, size_t itemsize, int direction, cupola_stream* s, int* done) {
    return guard([&] {
        required(to, "to");
        required(from, "from");
        required(done, "done");
        if (ndim > 0) required(shape, "shape");
        if (direction < CUPOLA_TO_DEVICE || direction > CUPOLA_ON_DEVICE)
            fail(CUPOLA_ERROR_VALUE, "unknown direction " + std::to_string(direction));
        *done = copy(reduce(*to, *from, shape, ndim, itemsize), direction, stream_of(s));
    });
}

int cupola_fill_strided(const cupola_strided* to, const int64_t* shape, int ndim,
                        const void* element, size_t itemsize, cupola_stream* s) {
    return guard([&] {
        required(to, "to");
        if (ndim > 0) required(shape, "shape");
        const auto* bytes = static_cast<const unsigned char*>(required(element, "element"));
        fill_box(*to, shape, ndim, bytes, itemsize, stream_of(s));
    });
}
