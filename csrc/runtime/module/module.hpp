// csrc/runtime/module/module.hpp - a loaded image.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cupola/module.h"
#include "image/image.hpp"
#include "runtime/context/context.hpp"
#include "runtime/lifetime/retained_object.hpp"
#include "runtime/module/parameter.hpp"

namespace cupola {

class Module : public RetainedObject {
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
    // The sizes of a kernel's parameters, for graphs: no driver before CUDA 12.4 tells them. False
    // where nobody said.
    void note_sizes(CUfunction function, std::vector<std::uint32_t> sizes);
    bool sizes_of(CUfunction function, std::vector<std::uint32_t>& sizes) const;
    // Waits for the device's work, then unloads; every use from then on throws. Throws where a
    // graph has one of its kernels, which no driver could tell when it is launched.
    void unload();
    // What it lends its handle by: no thread unloads it meanwhile. Throws where one did. Launches
    // have no time for it; they look at `handle` alone.
    std::shared_lock<std::shared_mutex> use() const;
    void require_loaded() const {
        if (__builtin_expect(!handle.load(std::memory_order_relaxed), 0)) fail_unloaded();
    }

    // The PTX to read names and parameters in, of an image that has none.
    void describe(std::string_view ptx);
    // The parameters as the PTX declares them; false where it has no such kernel.
    bool declared(std::string_view kernel, std::vector<Parameter>& parameters) const;

    Context& context;
    std::atomic<CUmodule> handle{nullptr};  // null once it was unloaded

  private:
    void load(const void* image, const std::vector<image::Entry>& entries);
    void note_ptx(const std::vector<image::Entry>& entries);
    std::vector<std::string> list_names() const;
    void note_variables(const std::vector<image::Entry>& entries);
    [[noreturn]] static void fail_unloaded();
    void require_in_no_graph() const;
    mutable std::shared_mutex mutex_;  // of what follows, and of `handle` where it is used
    // Of the image: what the device runs, where it runs PTX. For names and parameter lists; empty
    // where there is none to read.
    std::string ptx_;
    bool listed_ = false, variables_listed_ = false;
    std::vector<std::string> names_, variables_;
    std::optional<std::vector<std::string>> declared_;  // variables, of machine code alone
    std::map<CUfunction, std::vector<std::uint32_t>> sizes_;
};

inline Module* unwrap(cupola_module* module) { return reinterpret_cast<Module*>(module); }
inline const Module* unwrap(const cupola_module* m) { return reinterpret_cast<const Module*>(m); }
inline cupola_module* wrap(Module* module) { return reinterpret_cast<cupola_module*>(module); }

}  // namespace cupola
