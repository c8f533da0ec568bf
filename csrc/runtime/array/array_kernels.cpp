// csrc/runtime/array/array_kernels.cpp - finds the kernels of arrays in the library, and loads
// them.
//
// Of each kernel there is a text of PTX for itself, and machine code of groups of them. A device
// that has machine code loads that of a group, which costs no more than that of one kernel; all
// others read the text of the one kernel that is launched.
#include "runtime/array/array_kernels.hpp"

#include <cstring>
#include <map>
#include <mutex>

// What package/cupola/build/ptx.py and csrc/recipe.py wrote.
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    "cupola_arrays_begin:\n"
    ".incbin \"" CUPOLA_ARRAYS_IMAGE
    "\"\n"
    ".balign 16\n"
    ".popsection\n");

extern "C" {
__attribute__((visibility("hidden"))) extern const char cupola_arrays_begin[];
}

namespace cupola {
namespace {

// The beginning of the image, as the recipe packs it; all places count from there.
struct Piece {
    std::uint64_t offset, size;  // of a group without machine code, 0 and 0
};
struct Named {
    char name[48];
    std::uint64_t group;
    Piece ptx;
};
struct Head {
    char magic[16];
    std::uint64_t groups, kernels;  // followed by as many of Piece, then of Named
};

const Head& head() { return *reinterpret_cast<const Head*>(cupola_arrays_begin); }
const Piece* groups() { return reinterpret_cast<const Piece*>(&head() + 1); }

const Named& find(const std::string& name) {
    const auto* const kernels = reinterpret_cast<const Named*>(groups() + head().groups);
    for (std::uint64_t i = 0; i < head().kernels; ++i)
        if (name == kernels[i].name) return kernels[i];
    fail(CUPOLA_ERROR_INTERNAL, "the library has no array kernel " + name);
}

bool has_code(const Piece& group, const Context& context) {
    if (driver().cpu || !group.size) return false;
    for (const image::Entry& entry : image::read(cupola_arrays_begin + group.offset, group.size))
        if (entry.kind == image::Kind::cubin &&
            entry.architecture / 10 == context.capability / 10 &&
            entry.architecture <= context.capability)
            return true;
    return false;
}

// What is loaded of one device.
class Loaded {
  public:
    Kernel& kernel(Context& context, const std::string& name, std::size_t parameter_bytes) {
        std::lock_guard<std::mutex> lock(mutex_);
        Ref<Kernel>& kernel = kernels_[name];
        if (!kernel) kernel = loaded(context, name, parameter_bytes);
        return *kernel;
    }

  private:
    // With all that is known of it: what others find is not changed any more.
    Ref<Kernel> loaded(Context& context, const std::string& name, std::size_t parameter_bytes) {
        auto kernel = make<Kernel>(module(context, find(name)), name);
        if (kernel->parameters.empty()) {  // a driver that doesn't tell, and machine code alone
            cupola_parameter only{};
            only.size = static_cast<std::uint32_t>(parameter_bytes);
            only.kind = CUPOLA_STRUCT;
            kernel->declare(&only, 1);
        }
        if (kernel->parameters.size() != 1 || kernel->parameter_bytes != parameter_bytes)
            fail(CUPOLA_ERROR_IMAGE, name + ": the library's image has other parameters");
        return kernel;
    }

    Ref<Module> module(Context& context, const Named& named) {
        const Piece& group = groups()[named.group];
        if (!has_code(group, context))
            return make<Module>(context, cupola_arrays_begin + named.ptx.offset, named.ptx.size);
        Ref<Module>& module = modules_[named.group];
        if (!module) module = make<Module>(context, cupola_arrays_begin + group.offset, group.size);
        return module;
    }

    std::mutex mutex_;
    std::map<std::uint64_t, Ref<Module>> modules_;  // by group
    std::map<std::string, Ref<Kernel>> kernels_;
};

}  // namespace

Kernel& array_kernel(Context& context, const std::string& name, std::size_t parameter_bytes) {
    // Never destroyed: the driver may be gone before the process is.
    static auto* const devices = new Loaded[64];
    return devices[context.ordinal].kernel(context, name, parameter_bytes);
}

}  // namespace cupola
