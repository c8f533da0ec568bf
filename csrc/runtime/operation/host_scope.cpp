// csrc/runtime/operation/host_scope.cpp - registers host memory for the duration of a call.
#include "runtime/operation/host_scope.hpp"

#include <algorithm>

#include "runtime/context/device.hpp"
#include "runtime/memory/pinned.hpp"

namespace cupola {
namespace {

std::mutex& one_at_a_time() {
    static std::mutex* const mutex = new std::mutex;
    return *mutex;
}

}  // namespace

HostScope::HostScope(Context& context, HostRange* ranges, std::size_t count)
    : lock_(one_at_a_time()) {
    const ContextScope current(context);
    std::sort(ranges, ranges + count,
              [](const HostRange& one, const HostRange& other) { return one.begin < other.begin; });
    for (std::size_t i = 0; i < count;) {
        HostRange joined = ranges[i];
        for (++i; i < count && ranges[i].begin < joined.end; ++i) {
            joined.end = std::max(joined.end, ranges[i].end);
            joined.written |= ranges[i].written;
        }
        if (device_of_address(context.driver, joined.begin) >= 0 &&
            device_of_address(context.driver, joined.end - 1) >= 0)
            continue;
        registered_.push_back(register_host(
            context, reinterpret_cast<void*>(static_cast<std::uintptr_t>(joined.begin)),
            joined.end - joined.begin, joined.written ? 0 : CUPOLA_REGISTER_READ_ONLY));
    }
}

}  // namespace cupola
