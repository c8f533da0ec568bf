// tests/fuzz/ptx_fuzz.cpp - any PTX text gives an image or throws ptx::Error, and so does linking
// it. A text that can be built whole can also be built kernel by kernel. A text that is written for
// an older driver needs no newer one.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

#include "cpu/interpreter/execute.hpp"
#include "cpu/interpreter/lazy_kernels.hpp"
#include "device_runtime.hpp"
#include "grammar/mutator.hpp"
#include "ptx/error.hpp"
#include "ptx/link.hpp"
#include "ptx/older_driver.hpp"
#include "ptx/source_line.hpp"

namespace {

// Memory for module variables, as little as a driver might have.
class Bounded {
  public:
    explicit Bounded(std::size_t limit) : limit_(limit) {}
    void* allocate(std::size_t size, std::size_t align) {
        if (size > limit_ - used_) return nullptr;
        void* p = std::aligned_alloc(align, (size + align - 1) / align * align);
        if (!p) return nullptr;
        std::memset(p, 0, size);
        used_ += size;
        sizes_[p] = size;
        return p;
    }
    void release(void* p) {
        used_ -= sizes_.at(p);
        sizes_.erase(p);
        std::free(p);
    }
    bool empty() const { return sizes_.empty(); }

  private:
    const std::size_t limit_;
    std::size_t used_ = 0;
    std::map<void*, std::size_t> sizes_;
};

cupola::cpu::Image::Memory memory_of(Bounded& memory) {
    return {[&](std::size_t n, std::size_t align) { return memory.allocate(n, align); },
            [&](void* p) { memory.release(p); }};
}

bool same(const cupola::cpu::Kernel& one, const cupola::cpu::Kernel& other) {
    const auto& mine = one.parameters();
    const auto& its = other.parameters();
    const auto alike = [](const auto& a, const auto& b) {
        return a.offset == b.offset && a.size == b.size && a.align == b.align;
    };
    return std::equal(mine.begin(), mine.end(), its.begin(), its.end(), alike) &&
           one.static_shared_bytes() == other.static_shared_bytes() &&
           one.local_bytes() == other.local_bytes() && one.max_threads() == other.max_threads() &&
           one.ptx_version() == other.ptx_version() && one.target() == other.target();
}

// Kernel by kernel: whether all of them are right, where the text is read that way at all.
bool deferred_agrees(std::string_view text, const cupola::cpu::Image* whole) {
    Bounded memory(2 << 20);  // more than for the whole, so that this is never what fails
    try {
        const auto image = cupola::cpu::LazyImage::build(text, memory_of(memory));
        if (!image) return true;
        for (const std::string& name : image->names()) {
            const auto* kernel = image->kernel(name);
            if (!kernel || kernel->name() != name) return false;
            if (!whole) continue;
            const auto* other = whole->kernel(name);
            if (!other || !same(*kernel, *other)) return false;
        }
        if (!whole) return true;
        for (const auto* kernel : whole->kernels())  // none is lost
            if (!image->kernel(kernel->name())) return false;
        return image->names().size() == whole->kernels().size();
    } catch (const cupola::ptx::Error& e) {
        return !whole && e.text.size() <= 200;
    }
}

void check_older_driver(std::string_view text, unsigned newest) {
    try {
        const auto made = cupola::ptx::for_driver(text, newest, 90);
        if (made.text.empty()) return;
        const auto left = cupola::ptx::required_version(made.text);
        if (left.known && (left.version > newest || left.written != newest)) std::abort();
    } catch (const cupola::ptx::Error& e) {
        if (e.text.size() > 200) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    Bounded memory(1 << 20);
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    bool built = false;
    check_older_driver(text, 60 + size % 36);
    cupola::ptx::source_line(text, static_cast<std::uint32_t>(size % 64));
    try {
        const auto image = cupola::cpu::Image::build(text, memory_of(memory));
        built = true;
        if (!deferred_agrees(text, image.get())) std::abort();
        for (const auto* kernel : image->kernels())
            if (image->kernel(kernel->name()) == nullptr) std::abort();
    } catch (const cupola::ptx::Error& e) {
        if (e.text.size() > 200) std::abort();
    }
    if (!memory.empty()) std::abort();
    if (!built && !deferred_agrees(text, nullptr)) std::abort();
    try {
        cupola::ptx::Linker linker;
        linker.add(text);
        linker.add(text);
        linker.linked();
    } catch (const cupola::ptx::Error& e) {
        if (e.text.size() > 200) std::abort();
    }
    return 0;
}
