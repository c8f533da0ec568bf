// csrc/runtime/module.hpp - a loaded image.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "image/image.hpp"
#include "runtime/context.hpp"
#include "runtime/resource.hpp"

namespace cupola {

class Module : public Resource {
  public:
    // Throws CUPOLA_ERROR_IMAGE where the bytes are broken or have no code for the device.
    Module(Context& context, const void* image, std::size_t size);
    ~Module() override;

    // All kernels' names as the image has them.
    const std::vector<std::string>& names();
    // The variables' names that the image tells and the driver knows; throws where the image
    // can't be read.
    const std::vector<std::string>& variables();
    // The one kernel that `name` means: its exact, demangled or demangled base name.
    std::string find(const std::string& name);
    // The driver's function of the exact name; null where there is none.
    CUfunction function(const std::string& name);
    // Waits for the device's work, then unloads; every use from then on throws. Throws where a
    // graph has one of its kernels, which no driver could tell when it is launched.
    void unload();
    void require_loaded() const {
        if (__builtin_expect(!handle.load(std::memory_order_relaxed), 0)) fail_unloaded();
    }

    Context& context;
    std::atomic<CUmodule> handle{nullptr};  // null once it was unloaded
    // Of the image: what the device runs, where it runs PTX. For names and parameter lists; empty
    // where there is none to read.
    std::string ptx;

  private:
    void load(const void* image, const std::vector<image::Entry>& entries);
    void note_ptx(const std::vector<image::Entry>& entries);
    std::vector<std::string> list_names() const;
    void note_variables(const std::vector<image::Entry>& entries);
    [[noreturn]] static void fail_unloaded();
    void require_in_no_graph() const;
    std::mutex mutex_;
    bool listed_ = false, variables_listed_ = false;
    std::vector<std::string> names_, variables_;
    std::optional<std::vector<std::string>> declared_;  // variables, of machine code alone
};

inline Module* unwrap(cupola_module* module) { return reinterpret_cast<Module*>(module); }
inline const Module* unwrap(const cupola_module* m) { return reinterpret_cast<const Module*>(m); }
inline cupola_module* wrap(Module* module) { return reinterpret_cast<cupola_module*>(module); }

}  // namespace cupola
