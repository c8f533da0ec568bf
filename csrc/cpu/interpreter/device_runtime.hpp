// csrc/cpu/interpreter/device_runtime.hpp - the interface between device code that calls the device
// runtime and the driver half, which has the runtime's functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cupola::cpu {

class ChildGrids;

// A call by one thread.
class DeviceCall {
  public:
    static constexpr std::size_t most = 9;  // arguments

    virtual ~DeviceCall() = default;
    // Checks an access by the thread. Null if it is not allowed; a fault has then been noted.
    virtual std::byte* reach(std::uint64_t address, std::uint64_t bytes, std::uint64_t align,
                             bool write) = 0;
    // Tells the checkers of accesses about a new piece of a heap.
    virtual void allocated(std::uint64_t address, std::uint64_t bytes) = 0;

    template <class T>
    T argument(std::size_t n) const {
        T value;
        std::memcpy(&value, arguments[n], sizeof value);
        return value;
    }
    template <class T>
    void set_result(T value) const {
        if (result) std::memcpy(result, &value, sizeof value);
    }

    std::uint64_t block = 0;   // linear index in the grid
    std::uint32_t thread = 0;  // linear index in the block
    const std::byte* arguments[most] = {};
    std::byte* result = nullptr;  // null if the caller ignores the result
};

// `stopped`: the thread ends without a fault of its own.
enum class DeviceOutcome { done, faulted, stopped };

struct DeviceFunction {
    // `stream`: adds work to a stream, and has a second name with the suffix _ptsz. `graph`:
    // launches a graph.
    enum class Kind { plain, stream, graph };

    std::string_view name;
    bool cdp2 = true;  // also as __cudaCDP2*
    Kind kind = Kind::plain;
    DeviceOutcome (*run)(ChildGrids& grids, DeviceCall& call) = nullptr;
    unsigned result = 0;                            // bytes
    unsigned arguments[DeviceCall::most + 1] = {};  // bytes; 0 ends the list
};

// Null if no function has this name.
const DeviceFunction* find_device_function(std::string_view name);

// The device runtime of one grid. Thread-safe.
class DeviceRuntime {
  public:
    virtual ~DeviceRuntime() = default;
    virtual DeviceOutcome call(const DeviceFunction& function, DeviceCall& call) = 0;
};

}  // namespace cupola::cpu
