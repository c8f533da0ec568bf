// tests/fuzz/ptx_fuzz.cpp - PTX text of any kind: an image is built, or ptx::Error is thrown;
// and the same of linking it.
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

#include "cpu/execute.hpp"
#include "ptx/error.hpp"
#include "ptx/link.hpp"

namespace {

// Memory for module variables, as little as a driver might have.
class Bounded {
  public:
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
    std::size_t limit_ = 1 << 20, used_ = 0;
    std::map<void*, std::size_t> sizes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    Bounded memory;
    try {
        const auto image = cupola::cpu::Image::build(
            {reinterpret_cast<const char*>(data), size},
            {[&](std::size_t n, std::size_t align) { return memory.allocate(n, align); },
             [&](void* p) { memory.release(p); }});
        for (const auto* kernel : image->kernels())
            if (image->kernel(kernel->name()) == nullptr) std::abort();
    } catch (const cupola::ptx::Error& e) {
        if (e.text.size() > 200) std::abort();
    }
    if (!memory.empty()) std::abort();
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        cupola::ptx::link({text, text});
    } catch (const cupola::ptx::Error& e) {
        if (e.text.size() > 200) std::abort();
    }
    return 0;
}
