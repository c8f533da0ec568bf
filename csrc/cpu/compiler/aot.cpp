// csrc/cpu/compiler/aot.cpp - compiles kernels ahead of time, and finds their code.
//
// A library exports an interpreter::AotKernel for each kernel, under the kernel's name. Its key is
// a hash of the emitted source, the text of the semantics and the flags. The source depends on the
// PTX and on all decisions of the analysis. So code of other PTX, or of another version, is not
// found. The compiler is not part of the key, because the machine that loads the library may have
// none.
#include "cpu/compiler/aot.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>

#include "cpu/analysis/pipeline.hpp"
#include "cpu/base/sha256.hpp"
#include "cpu/compiler/cache.hpp"
#include "cpu/compiler/host_compiler.hpp"
#include "cpu/compiler/semantics.hpp"
#include "cpu/emitter/kernel_source.hpp"
#include "cpu/interpreter/kernel.hpp"
#include "cpu/interpreter/levels.hpp"

namespace cupola::cpu::compiler {
namespace {

// The most bytes of source that are compiled; a compiler needs some 25 s for this size.
constexpr std::size_t max_aot_source = 1024 * 1024;

struct Loaded {
    void* library;
    std::string path, level;
};

struct Libraries {
    std::mutex mutex;
    std::vector<Loaded> libraries;
};
Libraries& libraries() {
    static auto* one = new Libraries;
    return *one;
}

// Adds the library of cupola's own kernels, beside the device's library.
void add_shipped() {
    Dl_info about;
    if (dladdr(reinterpret_cast<void*>(&add_shipped), &about) == 0 || !about.dli_fname) return;
    const std::string file = real_path(about.dli_fname);
    add_aot(file.substr(0, file.rfind('/') + 1) + "kernels");
}

std::string symbol_of(const std::string& kernel) { return "cupola_ahead_" + kernel; }

std::string march_of(const std::string& level) {
    return level.compare(0, 7, "x86-64-") == 0 ? level : "";
}

std::string key_of(const std::string& level, const std::string& source) {
    std::string about;
    for (const auto& flag : flags(march_of(level))) about += flag + " ";
    return sha256(about + "\n" + std::string(semantics_hash()) + "\n" + source);
}

const interpreter::AotKernel* entry_of(const Loaded& loaded, const std::string& kernel) {
    return static_cast<const interpreter::AotKernel*>(
        dlsym(loaded.library, symbol_of(kernel).c_str()));
}

// A kernel's source with number n and its entry. The key is a hash of the source with number 0.
std::string source_with_entry(const Kernel& kernel, const std::string& level, std::size_t n) {
    const KernelAnalysis analysis = analyse(static_cast<const interpreter::KernelCode&>(kernel));
    const std::string key = key_of(level, source_of(analysis, 0).text());
    const std::string text = source_of(analysis, n).text();
    if (text.size() > max_aot_source)
        throw UnsupportedKernel{"it would take long to compile (" +
                                std::to_string(text.size() >> 10) + " KiB of C++)"};
    // Declared before it is defined: a constant would have internal linkage otherwise.
    const std::string entry =
        "const cupola::cpu::interpreter::AotKernel " + symbol_of(kernel.name());
    return text + "extern \"C\" __attribute__((visibility(\"default\"))) " + entry + ";\n" + entry +
           " = {\"" + key + "\", cupola::cpu::CUPOLA_ISA::" + name_of_kernel(n) + "};\n";
}

}  // namespace

bool make_aot(const std::vector<const Kernel*>& kernels, const std::string& level,
              const std::string& library, std::string& without) {
    without.clear();
    const Compiler compiler = Compiler::find();
    if (!compiler.found()) {
        without = compiler.missing;
        return false;
    }
    std::string text{semantics()};
    std::size_t n = 0;
    for (const Kernel* kernel : kernels) {
        try {
            text += source_with_entry(*kernel, level, n);
            ++n;
        } catch (const UnsupportedKernel& no) {
            without += kernel->name() + ": " + no.why + "\n";
        }
    }
    // Compiles in a new folder and renames the result, so no link is followed and an incomplete
    // library is never visible.
    std::string folder = library + ".XXXXXX";
    if (!mkdtemp(folder.data())) {
        without = folder + " cannot be created: " + std::strerror(errno);
        return false;
    }
    const std::string source = folder + "/source.cpp", made = folder + "/made.so";
    std::ofstream out(source, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    bool done = false;
    if (!out)
        without = source + " cannot be written";
    else if (compile(compiler, {march_of(level), 1, source, ""}, made, without)) {
        done = rename(made.c_str(), library.c_str()) == 0;
        if (!done) without = library + " cannot be written: " + std::strerror(errno);
    }
    unlink(made.c_str());
    unlink(source.c_str());
    rmdir(folder.c_str());
    return done;
}

std::string add_aot(const std::string& stem) {
    for (const char* level : interpreter::levels()) {
        // Checks the path that is loaded: a link could lead elsewhere after the check.
        const std::string path = real_path(stem + "." + level + ".so");
        struct stat about;
        if (lstat(path.c_str(), &about) != 0 || S_ISLNK(about.st_mode)) continue;
        if (getauxval(AT_SECURE) != 0)
            return path + " is not loaded: the program has more rights than its user";
        Libraries& all = libraries();
        std::lock_guard lock(all.mutex);
        for (const Loaded& each : all.libraries)
            if (each.path == path) return "";
        if (const std::string objection = objection_to_installed(path); !objection.empty())
            return path + " is not loaded: " + objection;
        all.libraries.reserve(all.libraries.size() + 1);
        void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            const char* text = dlerror();
            return path + " is not loaded: " + (text ? text : "dlopen failed");
        }
        all.libraries.push_back({library, path, level});
        return "";
    }
    return "";
}

bool has_aot(const std::string& kernel) {
    static std::once_flag own;
    std::call_once(own, &add_shipped);
    Libraries& all = libraries();
    std::lock_guard lock(all.mutex);
    for (const Loaded& each : all.libraries)
        if (entry_of(each, kernel)) return true;
    return false;
}

interpreter::MachineCodeRun find_aot(const std::string& kernel, const std::string& source) {
    Libraries& all = libraries();
    std::lock_guard lock(all.mutex);
    for (const Loaded& each : all.libraries)
        if (const interpreter::AotKernel* entry = entry_of(each, kernel))
            if (std::memcmp(entry->key, key_of(each.level, source).c_str(), sizeof entry->key) == 0)
                return entry->run;
    return nullptr;
}

}  // namespace cupola::cpu::compiler
