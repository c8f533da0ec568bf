// csrc/cpu/compiler/aot.cpp - making and finding code that is compiled ahead of time.
//
// A library exports, for each kernel, an interpreter::AotKernel by the kernel's name. Its key is a
// hash of the printed source, in which the PTX and all that was decided on the way from it are, of
// the semantics' text and of the flags: so what was made of another PTX, or by another version, is
// not found. Which compiler made it is not asked: where it is found there may be none.
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

#include "cpu/compiler/cache.hpp"
#include "cpu/compiler/host_compiler.hpp"
#include "cpu/compiler/semantics.hpp"
#include "cpu/compiler/sha256.hpp"
#include "cpu/emitter/cpp_emitter.hpp"
#include "cpu/interpreter/kernel.hpp"
#include "cpu/interpreter/levels.hpp"

namespace cupola::cpu::compiler {
namespace {

// Bytes of source. A compiler takes some 25 s for so much.
constexpr std::size_t max_ahead = 1024 * 1024;

struct Loaded {
    void* library;
    std::string path, level;
};

struct Known {
    std::mutex mutex;
    std::vector<Loaded> libraries;
};
Known& known() {
    static auto* one = new Known;
    return *one;
}

// What lies beside the device itself: cupola's own kernels.
void add_own() {
    Dl_info about;
    if (dladdr(reinterpret_cast<void*>(&add_own), &about) == 0 || !about.dli_fname) return;
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

// A kernel's source under a number, and what it is found by: its source under the first one.
std::string numbered(const Kernel& kernel, const std::string& level, std::size_t n) {
    const KernelAnalysis analysis(static_cast<const interpreter::KernelCode&>(kernel));
    const std::string key = key_of(level, source_of(analysis, 0).text());
    const std::string text = source_of(analysis, n).text();
    if (text.size() > max_ahead)
        throw UnsupportedKernel{"it would take long to compile (" +
                                std::to_string(text.size() >> 10) + " KiB of C++)"};
    // Declared first: a constant is nobody else's otherwise.
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
    if (!compiler.there()) {
        without = compiler.missing;
        return false;
    }
    std::string text{semantics()};
    std::size_t n = 0;
    for (const Kernel* kernel : kernels) {
        try {
            text += numbered(*kernel, level, n);
            ++n;
        } catch (const UnsupportedKernel& no) {
            without += kernel->name() + ": " + no.why + "\n";
        }
    }
    // In a folder of its own, and moved when it is done: no link is followed, and no file is there
    // that is not whole.
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
    else if (compile(compiler, march_of(level), 1, source, made, without)) {
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
        // What is checked is what is loaded: a link could lead elsewhere by then.
        const std::string path = real_path(stem + "." + level + ".so");
        struct stat about;
        if (lstat(path.c_str(), &about) != 0 || S_ISLNK(about.st_mode)) continue;
        if (getauxval(AT_SECURE) != 0)
            return path + " is not loaded: the program has more rights than its user";
        Known& all = known();
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

bool is_ahead(const std::string& kernel) {
    static std::once_flag own;
    std::call_once(own, &add_own);
    Known& all = known();
    std::lock_guard lock(all.mutex);
    for (const Loaded& each : all.libraries)
        if (entry_of(each, kernel)) return true;
    return false;
}

interpreter::MachineCodeRun find_ahead(const std::string& kernel, const std::string& source) {
    Known& all = known();
    std::lock_guard lock(all.mutex);
    for (const Loaded& each : all.libraries)
        if (const interpreter::AotKernel* entry = entry_of(each, kernel))
            if (std::memcmp(entry->key, key_of(each.level, source).c_str(), sizeof entry->key) == 0)
                return entry->run;
    return nullptr;
}

}  // namespace cupola::cpu::compiler
