// tests/fuzz/debug_fuzz.cpp - requests of a debugger's front end: frames' sizes, and any requests
// at each stop of a launch. Requests are separated by the byte 1. No reply reads outside of the
// memory of the launch, and the launch ends.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "cpu/debugger/session.hpp"
#include "cpu/interpreter/execute.hpp"
#include "device_runtime.hpp"

namespace {

namespace cpu = cupola::cpu;
using cpu::debugger::Session;

constexpr std::string_view text = R"(
.version 8.0
.target sm_90
.address_size 64
.func (.param .b32 out) sum(.param .b32 n) {
    .reg .pred %p;
    .reg .b32 %r<5>;
    ld.param.b32 %r1, [n];
    setp.eq.s32 %p, %r1, 0;
    mov.u32 %r4, 0;
    @%p bra done;
    sub.s32 %r2, %r1, 1;
    { .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r2;
    call (b), sum, (a);
    ld.param.b32 %r3, [b]; }
    add.s32 %r4, %r3, %r1;
done:
    st.param.b32 [out], %r4;
    ret;
}
.visible .entry k(.param .u64 x) {
    .local .align 4 .b8 depot[8];
    .shared .align 4 .b8 tile[64];
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    st.local.u32 [depot], %r1;
    bar.sync 0;
    and.b32 %r2, %r1, 3;
    { .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r2;
    call (b), sum, (a);
    ld.param.b32 %r3, [b]; }
    st.shared.u32 [tile], %r3;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r3;
    ret;
}
)";

constexpr std::size_t bytes = 40 * 4;

class Memory final : public cpu::AddressSpace {
  public:
    cpu::Range find(std::uintptr_t address) const override {
        const auto begin = reinterpret_cast<std::uintptr_t>(block.get());
        return address - begin < bytes ? cpu::Range{begin, begin + bytes, true} : cpu::Range{};
    }
    std::string fault_location(std::uintptr_t) const override { return ""; }
    const std::unique_ptr<char[]> block = std::make_unique<char[]>(bytes);
};

std::string_view left;

int handle(const char* event) {
    if (std::strstr(event, "\"poll\"")) return left.size() % 2 != 0;
    while (!left.empty()) {
        const std::size_t end = left.find('\1');
        const std::string_view request = left.substr(0, end);
        left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
        const std::string& reply = Session::get()->request(request);
        if (reply == "-no launch is stopped") break;
        if (reply.empty() || (reply[0] != '+' && reply[0] != '-')) std::abort();
    }
    Session::get()->request("leave");  // a launch that a request has ended waits for this request
    return 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    static const std::unique_ptr<cpu::Image> image =
        cpu::Image::build(text, {[](std::size_t n, std::size_t) { return std::calloc(n, 1); },
                                 [](void* p) { std::free(p); }});
    if (unsigned char head[4]; size >= sizeof head) {
        std::memcpy(head, data, sizeof head);
        if (const auto frame = cpu::debugger::frame_bytes(head))
            if (*frame > cpu::debugger::max_frame_bytes) std::abort();
    }
    left = {reinterpret_cast<const char*>(data), size};
    if (!Session::attach(&handle)) std::abort();
    const Memory memory;
    cpu::Launch launch;
    launch.kernel = image->kernel("k");
    launch.block = {40, 1, 1};
    launch.memory = &memory;
    const char* const buffer = memory.block.get();
    launch.parameters.resize(sizeof buffer);
    std::memcpy(launch.parameters.data(), &buffer, sizeof buffer);
    const std::atomic<bool> stop{false};
    launch.stop = &stop;
    if (auto stops = Session::get()->launched(launch)) launch.observers = {std::move(stops)};
    cpu::ClusterRunner::make(launch)->run(0, 1, stop);
    launch.observers.clear();
    return 0;
}
