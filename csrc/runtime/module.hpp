// csrc/runtime/module.hpp - a loaded image.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/context.hpp"

namespace cupola {

class Module : public Object {
  public:
    // Throws CUPOLA_ERROR_IMAGE where the bytes are broken or have no code for the device.
    Module(Context& context, const void* image, std::size_t size);
    ~Module() override;

    // All kernels' names as the image has them.
    const std::vector<std::string>& names();
    // The one kernel that `name` means: its exact, demangled or demangled base name.
    std::string find(const std::string& name);

    Context& context;
    CUmodule handle = nullptr;
    std::string ptx;  // of the image, for its parameter lists; empty where there is none to read

  private:
    void load(const void* image);
    std::mutex mutex_;
    bool listed_ = false;
    std::vector<std::string> names_;
};

inline Module* unwrap(cupola_module* module) { return reinterpret_cast<Module*>(module); }
inline const Module* unwrap(const cupola_module* m) { return reinterpret_cast<const Module*>(m); }
inline cupola_module* wrap(Module* module) { return reinterpret_cast<cupola_module*>(module); }

}  // namespace cupola
