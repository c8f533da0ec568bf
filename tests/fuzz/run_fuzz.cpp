// tests/fuzz/run_fuzz.cpp - PTX that loads is run: each kernel by the interpreter, for a bounded
// number of turns, plainly, with all checks of CUPOLA_CPU_CHECK, or with coverage. It ends, is
// stopped, or faults; and no access leaves the memory that it was given.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "cpu/coverage/counts.hpp"
#include "cpu/interpreter/execute.hpp"
#include "cpu/sanitizer/sanitizer.hpp"
#include "device_runtime.hpp"
#include "grammar/mutator.hpp"
#include "ptx/error.hpp"

namespace {

namespace cpu = cupola::cpu;

// Global memory: module variables, what kernels allocate, and two buffers, each a block of its own,
// so that AddressSanitizer sees an access beyond one.
class Memory final : public cpu::AddressSpace, public cpu::DeviceHeap {
  public:
    ~Memory() override {
        for (const auto& [begin, size] : blocks_) std::free(reinterpret_cast<void*>(begin));
    }
    void* place(std::size_t size, std::size_t align) {
        constexpr std::size_t limit = 1 << 20;
        if (size > limit || used_ + size > limit || blocks_.size() > 1000) return nullptr;
        // The block has exactly the size of the memory where malloc's alignment is enough.
        const std::size_t whole = (size + align - 1) / align * align;
        void* p = align <= 16 ? std::malloc(size) : std::aligned_alloc(align, whole);
        if (!p) return nullptr;
        std::memset(p, 0, size);
        used_ += size;
        blocks_[reinterpret_cast<std::uintptr_t>(p)] = size;
        return p;
    }
    cpu::Range find(std::uintptr_t address) const override {
        auto after = blocks_.upper_bound(address);
        if (after == blocks_.begin()) return {};
        const auto& [begin, size] = *--after;
        return address - begin < size ? cpu::Range{begin, begin + size, true} : cpu::Range{};
    }
    std::string fault_location(std::uintptr_t) const override { return ""; }
    std::uintptr_t allocate(std::uint64_t bytes) override {
        return reinterpret_cast<std::uintptr_t>(place(std::max<std::uint64_t>(bytes, 1), 16));
    }
    // Memory stays mapped for as long as a grid may have found it.
    bool release(std::uintptr_t address) override { return blocks_.count(address) != 0; }

  private:
    std::map<std::uintptr_t, std::size_t> blocks_;
    std::size_t used_ = 0;
};

std::vector<std::byte> arguments(const cpu::Kernel& kernel, void* buffer, std::size_t bytes) {
    std::vector<std::byte> packed;
    for (const cpu::Parameter& p : kernel.parameters()) {
        packed.resize(std::max<std::size_t>(packed.size(), p.offset + p.size));
        if (p.size == sizeof buffer) std::memcpy(&packed[p.offset], &buffer, sizeof buffer);
        if (p.size == 4) packed[p.offset] = static_cast<std::byte>(bytes / 4);
    }
    return packed;
}

void run(const cpu::Kernel& kernel, Memory& memory, bool checked) {
    constexpr std::size_t bytes = 512;
    constexpr int turns = 6, more = 2000;
    cpu::Launch launch;
    launch.kernel = &kernel;
    launch.cluster = kernel.required_cluster();
    if (launch.cluster.x == 0) launch.cluster = {1, 1, 1};
    launch.cluster.x = std::min(launch.cluster.x, 2u);
    launch.cluster.y = launch.cluster.z = 1;
    launch.grid = launch.cluster;
    launch.block = kernel.required_block();
    if (launch.block.x == 0) launch.block = {std::min(40u, kernel.max_threads()), 1, 1};
    launch.dynamic_shared = 64;
    if (kernel.static_shared_bytes() + launch.dynamic_shared > 227 * 1024) return;
    void* buffer = memory.place(bytes, 16);
    if (!buffer) return;
    launch.parameters = arguments(kernel, buffer, bytes);
    launch.memory = &memory;
    launch.heap = &memory;
    launch.print = [](std::string_view) {};
    std::atomic<bool> stop{false};
    launch.stop = &stop;
    // A cooperative launch yields after each time slice, and so returns here.
    launch.cooperative = true;
    launch.checks = {checked, checked, checked, checked};
    cpu::sanitizer::Unwritten unwritten;
    launch.unwritten = &unwritten;
    launch.observers = cpu::observe::launched(launch);
    try {
        const auto runner = cpu::ClusterRunner::make(launch);
        runner->begin(0);
        auto progress = cpu::ClusterRunner::Progress::running;
        for (int n = 0; n < turns + more && progress == cpu::ClusterRunner::Progress::running;
             ++n) {
            if (n == turns) stop.store(true);
            progress = runner->advance();
        }
        if (progress == cpu::ClusterRunner::Progress::running) std::abort();  // cannot be stopped
        if (progress == cpu::ClusterRunner::Progress::faulted &&
            runner->take_fault().text.size() > 100'000)
            std::abort();
    } catch (const std::bad_alloc&) {
    }
}

// Prints at the end how many inputs loaded, because an input that does not load tests no execution.
struct Count {
    unsigned long inputs = 0, ran = 0;
    ~Count() { std::fprintf(stderr, "ran: %lu of %lu inputs\n", ran, inputs); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    static Count counted;
    static const bool connected = [] {
        cpu::observe::connect(cpu::sanitizer::observer());
        cpu::observe::connect(cpu::coverage::observer());
        return true;
    }();
    (void)connected;
    ++counted.inputs;
    Memory memory;
    // Counted: where it ends, its counts are written.
    const bool covered = std::hash<std::string_view>{}(text) % 4 == 1;
    struct Coverage {
        ~Coverage() {
            if (std::string error; !cpu::coverage::stop(error)) std::abort();
        }
    } stop;
    if (std::string error; covered && !cpu::coverage::start("/dev/null", error)) std::abort();
    try {
        const auto image = cpu::Image::build(
            text, {[&](std::size_t n, std::size_t align) { return memory.place(n, align); },
                   [](void*) {}});
        ++counted.ran;
        std::size_t count = 0;
        for (const cpu::Kernel* kernel : image->kernels()) {
            if (++count > 3) break;
            run(*kernel, memory, std::hash<std::string_view>{}(text) % 4 == 0);
        }
    } catch (const cupola::ptx::Error&) {
        return 0;
    }
    return 0;
}
