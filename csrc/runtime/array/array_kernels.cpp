// csrc/runtime/array/array_kernels.cpp - finds and loads the library's own array kernels.
//
// Each kernel has a PTX text of its own; the texts of a group are packed together, and unpacked at
// the first use of one. Machine code is stored by group. Where there is machine code for the
// device, a whole group is loaded, at the cost of one kernel. Other devices load the PTX of the
// launched kernel only.
#include "runtime/array/array_kernels.hpp"

#include <cstring>
#include <map>
#include <mutex>

// The image that package/cupola/build/ptx.py and csrc/recipe.py wrote.
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

// Offsets count from the beginning of the image, as the recipe packs it.
struct Piece {
    std::uint64_t offset, size;  // both are 0 for a group without machine code
};
struct Group {
    Piece code, texts;
};
struct Named {
    char name[48];
    std::uint64_t group;
    Piece ptx;  // in the unpacked texts of its group
};
struct Head {
    char magic[16];
    std::uint64_t groups, kernels;  // then follow `groups` Groups and `kernels` Nameds
};

const Head& head() { return *reinterpret_cast<const Head*>(cupola_arrays_begin); }
const Group* groups() { return reinterpret_cast<const Group*>(&head() + 1); }

const Named& find(const std::string& name) {
    const auto* const kernels = reinterpret_cast<const Named*>(groups() + head().groups);
    for (std::uint64_t i = 0; i < head().kernels; ++i)
        if (name == kernels[i].name) return kernels[i];
    fail(CUPOLA_ERROR_INTERNAL, "the library has no array kernel " + name);
}

bool has_code(const Piece& group, const Context& context) {
    if (context.driver->cpu || !group.size) return false;
    for (const image::Entry& entry : image::read(cupola_arrays_begin + group.offset, group.size))
        if (entry.kind == image::Kind::cubin &&
            image::judge(entry, {context.capability}).fit != image::Fit::none)
            return true;
    return false;
}

// The kernels and modules that are loaded on one device.
class Loaded {
  public:
    Kernel& kernel(Context& context, const std::string& name, std::size_t parameter_bytes) {
        std::lock_guard<std::mutex> lock(mutex_);
        Ref<Kernel>& kernel = kernels_[name];
        if (!kernel) kernel = loaded(context, name, parameter_bytes);
        return *kernel;
    }

  private:
    // The kernel with its parameters: other threads may read it, so it does not change afterwards.
    Ref<Kernel> loaded(Context& context, const std::string& name, std::size_t parameter_bytes) {
        auto kernel = make<Kernel>(module(context, find(name)), name);
        if (kernel->parameters()
                .empty()) {  // machine code only, and the driver can't list parameters
            cupola_parameter only{};
            only.size = static_cast<std::uint32_t>(parameter_bytes);
            only.kind = CUPOLA_STRUCT;
            kernel->declare(&only, 1);
        }
        if (kernel->parameters().size() != 1 || kernel->parameter_bytes != parameter_bytes)
            fail(CUPOLA_ERROR_IMAGE, name +
                                         ": its parameters in the library's image differ from "
                                         "those expected: the build is inconsistent");
        return kernel;
    }

    Ref<Module> module(Context& context, const Named& named) {
        const Piece& code = groups()[named.group].code;
        if (!has_code(code, context)) {
            const std::string ptx = texts(named.group).substr(named.ptx.offset, named.ptx.size);
            return make<Module>(context, ptx.c_str(), ptx.size() + 1);
        }
        Ref<Module>& module = modules_[named.group];
        if (!module) module = make<Module>(context, cupola_arrays_begin + code.offset, code.size);
        return module;
    }

    const std::string& texts(std::uint64_t group) {
        std::string& text = texts_[group];
        if (text.empty()) {
            const Piece& packed = groups()[group].texts;
            text = image::unpack(
                image::read(cupola_arrays_begin + packed.offset, packed.size).front());
        }
        return text;
    }

    std::mutex mutex_;
    std::map<std::uint64_t, Ref<Module>> modules_;  // by group
    std::map<std::uint64_t, std::string> texts_;    // by group, unpacked
    std::map<std::string, Ref<Kernel>> kernels_;
};

}  // namespace

Kernel& array_kernel(Context& context, const std::string& name, std::size_t parameter_bytes) {
    // Never destroyed: the driver may end before the process does.
    static auto* const devices = new Loaded[max_ordinals];
    return devices[context.ordinal].kernel(context, name, parameter_bytes);
}

}  // namespace cupola
