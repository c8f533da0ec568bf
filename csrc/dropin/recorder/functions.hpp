// csrc/dropin/recorder/functions.hpp - the kernels whose launches are recorded, by their handles.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dropin/recorder/image.hpp"
#include "dropin/recorder/real.hpp"

namespace cupola::recorder {

struct Function {
    std::string name;
    std::shared_ptr<Image> image;
    CUmodule module = nullptr;
    CUlibrary library = nullptr;  // of a CUkernel, in place of the module
    bool is_kernel = false;       // the handle is a CUkernel
};

// A table from handles of kernels to functions. It is read without a lock. A larger table replaces
// a full one, and old tables are kept for their readers.
class Functions {
  public:
    // Null: launches of this handle are not recorded.
    Function* find(const void* handle) const {
        const Slots* const slots = slots_.load(std::memory_order_acquire);
        if (!slots) return nullptr;
        for (std::size_t i = place(handle) & slots->mask;; i = (i + 1) & slots->mask) {
            const void* const key = slots->entries[i].key.load(std::memory_order_acquire);
            if (key == handle) return slots->entries[i].function.load(std::memory_order_acquire);
            if (!key) return nullptr;
        }
    }
    // Null removes the handle. Functions are never freed.
    void set(const void* handle, Function* function);
    // From now on no launch is recorded.
    void close() { slots_.store(nullptr, std::memory_order_release); }

  private:
    struct Entry {
        std::atomic<const void*> key{nullptr};
        std::atomic<Function*> function{nullptr};
    };
    struct Slots {
        explicit Slots(std::size_t count) : mask(count - 1), entries(new Entry[count]) {}
        const std::size_t mask;
        const std::unique_ptr<Entry[]> entries;
        std::size_t used = 0;
    };

    static std::size_t place(const void* handle) {
        return static_cast<std::size_t>(
            (reinterpret_cast<std::uintptr_t>(handle) * 0x9e3779b97f4a7c15u) >> 32);
    }
    void insert(Slots& slots, const void* handle, Function* function);

    std::atomic<Slots*> slots_{nullptr};
};

// Initialised before any code runs, and never destroyed: a launch reads it without a check.
extern Functions functions;

// The images of modules and libraries, and the functions that the program gets of them.
void add_module(CUmodule module, std::shared_ptr<Image> image);
void add_library(CUlibrary library, std::shared_ptr<Image> image);
// The module that the driver made of a library.
void add_module_of(CUmodule module, CUlibrary library);
void forget(const void* owner);
void add_function(CUfunction function, CUmodule module, const char* name);
void add_kernel(CUkernel kernel, CUlibrary library, const char* name);
void add_function_of(CUfunction function, CUkernel kernel);

}  // namespace cupola::recorder
