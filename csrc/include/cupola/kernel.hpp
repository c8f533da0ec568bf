// cupola/kernel.hpp - a kernel, and its launch with checked arguments.
#ifndef CUPOLA_KERNEL_HPP
#define CUPOLA_KERNEL_HPP

#include <type_traits>

#include "cupola/launch.h"
#include "cupola/memory.hpp"
#include "cupola/module.hpp"

namespace cupola {

class kernel : public handle<cupola_kernel, cupola_kernel_retain, cupola_kernel_release> {
  public:
    // By exact, demangled, or unambiguous base name.
    kernel(const module& module, const std::string& name) : handle(find(module, name)) {}

    std::string name() const { return cupola_kernel_name(get()); }

    // Queues the kernel on the stream (null: the current one). Integers must fit their parameter's
    // range; floats are converted to its width. `memory` objects pass their address. They may be
    // released at any time: the memory is freed after the launch.
    template <class... Args>
    void launch(const cupola_dimensions& dimensions, cupola_stream* stream, const Args&... args) {
        check(cupola_argument_count(get(), sizeof...(args)));
        std::vector<unsigned char> buffer(cupola_kernel_parameter_bytes(get()) + 1);
        std::size_t index = 0;
        (check(put(buffer.data(), index++, args)), ...);
        check(cupola_launch(get(), &dimensions, nullptr, buffer.data(), stream));
        (check(use(stream, args)), ...);
    }

  private:
    static int use(cupola_stream* stream, const memory& value) {
        return cupola_memory_use(value.get(), stream);
    }
    template <class T>
    static int use(cupola_stream*, const T&) {
        return CUPOLA_SUCCESS;
    }
    static cupola_kernel* find(const module& module, const std::string& name) {
        cupola_kernel* out = nullptr;
        check(cupola_module_kernel(module.get(), name.c_str(), &out));
        return out;
    }

    int put(void* buffer, std::size_t index, const memory& value) const {
        return cupola_argument_pointer(get(), buffer, index, value.address());
    }
    template <class T>
    int put(void* buffer, std::size_t index, const T& value) const {
        if constexpr (std::is_pointer_v<T>)
            return cupola_argument_pointer(get(), buffer, index,
                                           reinterpret_cast<std::uintptr_t>(value));
        else if constexpr (std::is_floating_point_v<T>)
            return cupola_argument_float(get(), buffer, index, static_cast<double>(value));
        else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>)
            return cupola_argument_uint(get(), buffer, index, value);
        else if constexpr (std::is_integral_v<T>)
            return cupola_argument_int(get(), buffer, index, value);
        else
            return cupola_argument_bytes(get(), buffer, index, &value, sizeof value);
    }
};

}  // namespace cupola

#endif  // CUPOLA_KERNEL_HPP
