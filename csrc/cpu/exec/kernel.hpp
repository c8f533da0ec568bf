// csrc/cpu/exec/kernel.hpp - a decoded kernel: its code, and what its register file starts with.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu/exec/code.hpp"
#include "cpu/exec/matrix.hpp"
#include "cpu/exec/native.hpp"
#include "cpu/exec/texture.hpp"
#include "cpu/execute.hpp"
#include "ptx/program.hpp"

namespace cupola::cpu::watch {
struct WatchedCode;
}

namespace cupola::cpu::exec {

// Special registers that the decoder needs and PTX does not name.
enum class Hidden : std::uint8_t {
    shared_base = static_cast<std::uint8_t>(ptx::Special::count),
    local_base,
    parameter_base,
    stack_pointer,
    local_top,  // the end of what alloca has taken
    count,
};

// Which of %ctaid a special register is, -1: none.
int index_dimension(unsigned special);

// 32 equal lanes of `width` bytes, or for width 0 the 32 bits of a predicate.
struct ConstantLanes {
    std::int32_t offset;
    std::uint32_t width;
    std::uint64_t value;
    bool placed = false;  // where something lies in this process: another value in the next
};

// Bytes in a thread's local memory, relative to the caller's stack pointer.
struct Copy {
    std::uint32_t to, from, bytes;
};

struct CallSite {
    std::uint32_t frame = 0;   // what the stack pointer moves by
    std::uint32_t needed = 0;  // bytes that the callee takes above that
    std::vector<Copy> arguments, results;
    std::vector<std::pair<std::int32_t, std::uint32_t>>
        saved;                  // register, bytes a lane; 0: predicate
    std::uint32_t save_at = 0;  // where in the caller's frame they go
    // Of a call through a register: addresses of functions, and where in the code each begins.
    std::vector<std::pair<std::uint64_t, std::uint32_t>> targets;
};

// A kernel's machine code, and what goes with it.
struct Native {
    std::vector<Code> code;  // the kernel's once more; each leaves at once, so that a handler which
                             // is called comes back before the next
    std::vector<Handler> handlers;
    std::vector<std::uint8_t> entry;  // 1 where `run` may begin
    Services services;
    NativeRun run = nullptr;
    bool sweeps = false;  // `run` without a place does whole blocks
};

// Where a kernel finds it. Others may still be making it when the kernel has gone.
struct NativeSlot {
    enum class State : std::uint8_t { none, making, ready, failed };
    std::atomic<const Native*> ready{nullptr};  // what launches take from then on
    std::atomic<State> state{State::none};
    std::atomic<std::uint64_t> nanoseconds{0};  // interpreted so far
    std::unique_ptr<const Native> made;         // as `ready`
    std::string failure;                        // why there is none
};

struct KernelCode final : Kernel {
    const std::string& name() const override { return name_; }
    const std::vector<Parameter>& parameters() const override { return parameters_; }
    std::uint32_t static_shared_bytes() const override { return shared_bytes; }
    std::uint32_t local_bytes() const override { return frame_bytes; }
    std::uint32_t constant_bytes() const override { return constants_bytes; }
    std::uint32_t registers() const override { return register_count; }
    std::uint32_t max_threads() const override { return threads_limit; }
    Dim3 required_block() const override { return required; }
    Dim3 required_cluster() const override { return cluster; }
    std::uint32_t max_cluster() const override { return cluster_limit; }
    bool explicit_cluster() const override { return cluster_explicit; }
    int ptx_version() const override { return version; }
    int target() const override { return sm; }

    std::string name_;
    std::vector<Parameter> parameters_;
    std::uint32_t parameter_bytes = 0;
    std::uint32_t shared_bytes = 0, shared_align = 1;
    std::uint32_t frame_bytes = 0;   // a thread's deepest use of local memory, recursion aside
    std::uint32_t stack_bytes = 0;   // what is set aside for it, a multiple of
    std::uint32_t local_align = 16;  // the largest alignment in it
    std::uint32_t local_top = 0;     // where in it memory of alloca begins
    std::uint32_t constants_bytes = 0, register_count = 0, threads_limit = 1024;
    Dim3 required{0, 0, 0}, cluster{0, 0, 0};
    std::uint32_t cluster_limit = 0;
    bool cluster_explicit = false;
    int version = 0, sm = 0;
    std::string_view
        source;  // the PTX text, which the image keeps; or nothing where it names no files

    std::vector<Code> code;
    std::uint32_t file_bytes = 0;  // of a warp's registers
    std::vector<ConstantLanes> constants;
    // Special or Hidden, register; is_explicit_cluster's is a predicate
    std::vector<std::pair<unsigned, std::int32_t>> specials;
    std::vector<CallSite> calls;
    std::vector<TextureSite> textures;
    std::vector<std::vector<std::int32_t>> tables;  // brx.idx: targets relative to the instruction
    std::vector<MatrixOperation> matrices;
    std::uint32_t slots = 0;         // cached ranges
    std::uint32_t call_depth = 0;    // frames on a lane's return stack
    std::int32_t stack_pointer = 0;  // register
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> constant_ranges;
    const std::shared_ptr<NativeSlot> native = std::make_shared<NativeSlot>();
    mutable std::shared_ptr<const watch::WatchedCode> watched;  // once it has been watched
};

inline constexpr std::uint32_t recursion_bytes = 128 * 1024, recursion_depth = 2048,
                               alloca_bytes = 128 * 1024;

}  // namespace cupola::cpu::exec
