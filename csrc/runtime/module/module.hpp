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
#include "image/choice.hpp"
#include "ptx/older_driver.hpp"
#include "runtime/context/context.hpp"
#include "runtime/lifetime/retained_object.hpp"
#include "runtime/module/parameter.hpp"

namespace cupola {

class Module : public RetainedObject {
  public:
    // Throws CUPOLA_ERROR_IMAGE where the bytes are broken or have no code for the device.
    // `search_output`: whether the code is searched for printf and assert before it is loaded.
    Module(Context& context, const void* image, std::size_t size, bool search_output = false);
    ~Module() override;

    // The names of all kernels that the driver took, as in the image.
    const std::vector<std::string>& names();
    // The names of variables that the image lists and the driver finds, without those in reserved
    // scopes; throws where the image can't be read.
    const std::vector<std::string>& variables();
    // The kernel whose exact, demangled or base name is `name`; throws where it is missing or
    // ambiguous.
    std::string find(const std::string& name);
    // The driver's function of the exact name; null where the image has no such function. Throws
    // where the kernel needs a newer driver.
    CUfunction function(const std::string& name);
    // Sizes of a kernel's parameters, for graphs: drivers before CUDA 12.4 do not report them.
    // `sizes` returns false where none were noted.
    void note_sizes(CUfunction function, std::vector<std::uint32_t> sizes);
    bool sizes_of(CUfunction function, std::vector<std::uint32_t>& sizes) const;
    // Waits for the device's work, then unloads; later uses throw. Throws where a graph has one of
    // the module's kernels: drivers do not detect at a graph's launch that a module was unloaded.
    void unload();
    // A lock that prevents unloading while the handle is used; throws where it was unloaded.
    // Launches do not take it, for speed: they only check `handle`.
    std::shared_lock<std::shared_mutex> use() const;
    void require_loaded() const {
        if (__builtin_expect(!handle.load(std::memory_order_relaxed), 0)) fail_unloaded();
    }

    // Sets the PTX for names and parameters, for an image without PTX.
    void describe(std::string_view ptx);
    // The parameters in the PTX; false where the PTX has no such kernel.
    bool declared(std::string_view kernel, std::vector<Parameter>& parameters) const;

    Context& context;
    std::atomic<CUmodule> handle{nullptr};  // null after unload()

  private:
    // Loads the first candidate that the driver takes.
    void load(const std::vector<image::Candidate>& candidates,
              const std::vector<image::Entry>& entries, bool search_output);
    [[noreturn]] void fail_load(CUresult code, std::string log, const std::string& refused,
                                const std::vector<image::Entry>& entries) const;
    void note_ptx(const std::vector<image::Entry>& entries);
    std::vector<std::string> list_names() const;
    std::string omission(const ptx::ForDriver::Omitted& kernel) const;
    void note_variables(std::string_view machine_code);
    [[noreturn]] static void fail_unloaded();
    void require_in_no_graph() const;
    mutable std::shared_mutex mutex_;  // guards the fields below, and `handle` during uses
    // The image's PTX, for names and parameter lists; empty where none can be read. Where the
    // device runs PTX, this is the text that it runs.
    std::string ptx_;
    std::vector<ptx::ForDriver::Omitted> omitted_;  // kernels that need a newer driver
    bool listed_ = false, variables_listed_ = false;
    std::vector<std::string> names_, variables_;
    std::optional<std::vector<std::string>> declared_;  // variables, for images without PTX
    std::map<CUfunction, std::vector<std::uint32_t>> sizes_;
};

inline Module* unwrap(cupola_module* module) { return reinterpret_cast<Module*>(module); }
inline const Module* unwrap(const cupola_module* m) { return reinterpret_cast<const Module*>(m); }
inline cupola_module* wrap(Module* module) { return reinterpret_cast<cupola_module*>(module); }

}  // namespace cupola
