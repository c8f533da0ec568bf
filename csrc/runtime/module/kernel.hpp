// csrc/runtime/module/kernel.hpp - a kernel: its parameters, its limits, its launch.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cupola/launch.h"
#include "runtime/module/declaration.hpp"
#include "runtime/module/module.hpp"
#include "runtime/module/parameter.hpp"

namespace cupola {

class Kernel : public Object {
  public:
    // Throws CUPOLA_ERROR_NOT_FOUND where the module has no kernel of exactly that name.
    Kernel(Ref<Module> module, std::string name);
    Kernel(Ref<Module> module, std::string name, CUfunction handle);

    bool belongs_to(const Object& other) const override {
        return this == &other || module->belongs_to(other);
    }

    void declare(const cupola_parameter* declared, std::size_t count);
    void declare(const std::string& list);
    void describe(const char* type, const char* const* names, std::size_t count);
    int known_by() const { return known_by_.load(std::memory_order_relaxed); }
    // The list stays valid as long as the kernel, also where a declaration replaces it.
    const std::vector<Parameter>& parameters() const { return current()->parameters; }
    const cupola_parameter* published() const { return current()->published.data(); }
    void require_known() const;  // throws unless parameters are known and the module is loaded
    int attribute(CUfunction_attribute attribute) const;
    // Throws where a launch can't have these values; `attributes` may be null.
    void check_launch(const cupola_dimensions& dimensions,
                      const cupola_attributes* attributes) const;
    void check_shared(std::uint64_t dynamic) const;
    void allow_shared(std::uint64_t dynamic) const {  // expects a checked size
        if (__builtin_expect(dynamic > allowed_shared_.load(std::memory_order_relaxed), 0))
            raise_shared(dynamic);
    }
    // Expects checked values. Defined in launch.hpp.
    inline void launch(const cupola_dimensions& dimensions, const cupola_attributes* attributes,
                       const void* buffer, Stream& stream);
    // The same, with the addresses of arguments from `argument_pointers`.
    inline void launch_with_pointers(const cupola_dimensions& dimensions,
                                     const cupola_attributes* attributes, void** pointers,
                                     Stream& stream);
    [[gnu::always_inline]] void argument_pointers(const void* buffer, void** pointers) const {
        auto* bytes = static_cast<char*>(const_cast<void*>(buffer));
        const std::size_t count = offsets_.size();
        for (std::size_t i = 0; i < count; ++i) pointers[i] = bytes + offsets_[i];
    }
    // Whether it was launched before: the first launch may load code.
    bool launched() const { return launched_.load(std::memory_order_relaxed); }

    // The fields that each launch reads come first.
    Ref<Module> module;
    Context& context;
    CUfunction handle = nullptr;
    std::uint32_t parameter_bytes = 0;

  private:
    mutable std::atomic<unsigned> allowed_shared_{
        0};  // largest dynamic shared memory enabled so far
    const char* interned_title_ = "";
    std::vector<std::uint32_t> offsets_;  // offsets of the parameters
    std::atomic<bool> launched_{false};

  public:
    std::string name, demangled;
    std::string title;  // the kernel's name in messages

  private:
    void check_dimensions(const cupola_dimensions& dimensions) const;
    void check_attributes(const cupola_dimensions& d, const cupola_attributes& attributes) const;
    void read_parameters();
    void take(std::vector<Parameter> found, int known_by);
    void publish(std::vector<Parameter> found);
    void place();  // notes where the known parameters lie
    std::vector<Parameter> with_offsets(const std::vector<Declared>& declared) const;
    std::string mismatch(std::size_t index, const Declared& declared) const;
    // The text ", argument 1 (x) is null" for each null pointer; a null text where no pointer is
    // null.
    [[gnu::cold]] const char* null_arguments(void* const* pointers) const noexcept;
    CUresult send(const cupola_dimensions& d, const cupola_attributes& attributes, void** pointers,
                  CUstream stream) const;
    void raise_shared(std::uint64_t dynamic) const;
    CUresult queue(const Driver& driver, const cupola_dimensions& d,
                   const cupola_attributes* attributes, void** pointers, CUstream stream) const;
    [[gnu::cold]] void launch_in_context(const cupola_dimensions& d,
                                         const cupola_attributes* attributes, void** pointers,
                                         Stream& stream) const;
    // Retries a launch that failed with `code` where another context may have been current. Throws
    // the retry's error.
    [[gnu::cold]] void launch_again(CUresult code, const cupola_dimensions& d,
                                    const cupola_attributes* attributes, void** pointers,
                                    Stream& stream) const;
    // Launches with the log, the synchronization or the profile that is enabled.
    [[gnu::cold]] void launch_instrumented(const cupola_dimensions& d,
                                           const cupola_attributes* attributes, void** pointers,
                                           Stream& stream);
    // Throws where a launch that runs at once has memory of a running capture.
    void require_contents(void* const* pointers, const Stream& stream) const;
    [[gnu::cold]] void log_launch(const cupola_dimensions& d) const;
    [[noreturn, gnu::cold]] void fail_stream(const Stream& stream) const;
    [[noreturn, gnu::cold]] void fail_launch(CUresult code, const cupola_dimensions& d) const;

    // false: only a declaration can give the parameters. Once true, their number, offsets and sizes
    // stay, and a declaration changes kinds and names alone.
    std::atomic<bool> known_{true};
    std::atomic<int> known_by_ = CUPOLA_KNOWN_SIZES;
    std::mutex declaring_;  // held while a declaration is compared and taken
    unsigned max_threads_ = 0, static_shared_ = 0, most_shared_ = 0;
    mutable std::atomic<bool> allowed_clusters_{false};  // larger than portable
    struct List {
        std::vector<Parameter> parameters;
        std::vector<cupola_parameter> published;  // cupola_kernel_parameters points to it
    };
    std::vector<std::unique_ptr<const List>> lists_;  // other threads may read replaced lists
    std::atomic<const List*> current_{nullptr};       // the last of lists_
    const List* current() const { return current_.load(std::memory_order_acquire); }
};

inline Kernel* unwrap(cupola_kernel* kernel) { return reinterpret_cast<Kernel*>(kernel); }
inline const Kernel* unwrap(const cupola_kernel* k) { return reinterpret_cast<const Kernel*>(k); }
inline cupola_kernel* wrap(Kernel* kernel) { return reinterpret_cast<cupola_kernel*>(kernel); }

}  // namespace cupola
