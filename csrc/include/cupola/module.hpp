// cupola/module.hpp - a loaded image: fatbin, cubin or PTX.
#ifndef CUPOLA_MODULE_HPP
#define CUPOLA_MODULE_HPP

#include <string>
#include <vector>

#include "cupola/device.hpp"
#include "cupola/handle.hpp"
#include "cupola/module.h"
#include "cupola/shipped.h"

namespace cupola {

class module : public handle<cupola_module, cupola_module_retain, cupola_module_release> {
  public:
    module(const void* image, std::size_t size,
           const device& device = cupola::device()) :handle(load(image, size, device)) {}
    explicit module(const std::string& image, const device& device = cupola::device())
        : module(image.data(), image.size(), device) {}

    // The kernels that come with cupola.
    static module shipped(const device& device = cupola::device()) {
        cupola_module* out = nullptr;
        check(cupola_module_shipped(device.ordinal(), &out));
        return module(out);
    }

    std::vector<std::string> kernels() const {
        std::size_t count = 0;
        check(cupola_module_kernel_count(get(), &count));
        std::vector<std::string> names;
        for (std::size_t i = 0; i < count; ++i) {
            const char* name = nullptr;
            check(cupola_module_kernel_name(get(), i, &name));
            names.emplace_back(name);
        }
        return names;
    }

  private:
    explicit module(cupola_module* taken) noexcept : handle(taken) {}
    static cupola_module* load(const void* image, std::size_t size, const device& device) {
        cupola_module* out = nullptr;
        check(cupola_module_load(device.ordinal(), image, size, &out));
        return out;
    }
};

}  // namespace cupola

#endif  // CUPOLA_MODULE_HPP
