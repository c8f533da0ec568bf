// csrc/cpu/interpreter/kernel.hpp - a decoded kernel: code, register file, call sites.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu/interpreter/decoded_origin.hpp"
#include "cpu/interpreter/device_runtime.hpp"
#include "cpu/interpreter/execute.hpp"
#include "cpu/interpreter/machine_code.hpp"
#include "cpu/interpreter/matrix.hpp"
#include "cpu/interpreter/tcgen05.hpp"
#include "cpu/interpreter/texture_site.hpp"
#include "cpu/isa/code.hpp"
#include "cpu/observe/counters.hpp"
#include "ptx/program.hpp"

namespace cupola::cpu::interpreter {

// Special registers of the decoder that PTX does not name.
enum class Hidden : std::uint8_t {
    shared_base = static_cast<std::uint8_t>(ptx::Special::count),
    shared_window,  // Block::shared_window
    local_base,
    parameter_base,
    stack_pointer,
    local_top,  // the end of memory that alloca has allocated
    count,
};

// The dimension where a special register is a component of %ctaid, else -1.
int index_dimension(unsigned special);

// One value in 32 lanes of `width` bytes; width 0: the 32 bits of a predicate.
struct ConstantLanes {
    std::int32_t offset;
    std::uint32_t width;
    std::uint64_t value;
    bool placed = false;  // an address of this process, which differs in another process
};

// A copy within a thread's local memory, relative to the caller's stack pointer.
struct Copy {
    std::uint32_t to, from, bytes;
};

struct CallSite {
    std::uint32_t frame = 0;   // bytes by which the stack pointer moves
    std::uint32_t needed = 0;  // bytes that the callee needs above the moved stack pointer
    std::vector<Copy> arguments, results;
    std::vector<std::pair<std::int32_t, std::uint32_t>>
        saved;                  // register, bytes a lane; 0: predicate
    std::uint32_t save_at = 0;  // their offset in the caller's frame
    // For an indirect call: the addresses of functions, and the start of each function in the code.
    std::vector<std::pair<std::uint64_t, std::uint32_t>> targets;
    const DeviceFunction* runtime = nullptr;  // a call of the device runtime
};

// A kernel's machine code and the tables that it needs.
struct MachineCode {
    // This copy's handlers return to their caller. The handlers of the original jump to the next
    // operation.
    std::vector<DecodedOp> code;
    std::vector<Handler> handlers;
    std::vector<std::uint8_t> entry;  // 1 where `run` may enter
    RuntimeCallbacks services;
    MachineCodeRun run = nullptr;
    bool has_block_batch = false;  // `run` with a null pc runs whole blocks
};

// The place where a kernel finds its machine code. The compilation may outlive the kernel.
struct MachineCodeSlot {
    enum class State : std::uint8_t { none, making, ready, failed };
    std::atomic<const MachineCode*> ready{nullptr};  // used by launches from then on
    std::atomic<State> state{State::none};
    std::atomic<std::uint64_t> nanoseconds{0};  // time in the interpreter so far
    std::unique_ptr<const MachineCode> made;    // owner of `ready`
    // The code of the quick tier, which blocks may still run when better code is ready.
    std::unique_ptr<const MachineCode> quick;
    std::string failure;              // why compilation failed
    std::atomic<bool> failed{false};  // `failure` is set
};

// A function's part of the code, for debuggers.
struct FunctionCode {
    std::string name;
    std::uint32_t start = 0;              // index in the code
    std::vector<std::int32_t> registers;  // offsets by their index in the function; 0: unused
};

// A variable that the code names: a shared one by its offset in the block's shared memory.
struct PlacedVariable {
    std::string name;
    bool shared = false;
    std::uint64_t address = 0, size = 0;
};

struct SteppedCode;

struct KernelCode final : Kernel, std::enable_shared_from_this<KernelCode> {
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
    bool uses_device_runtime() const override { return calls_runtime; }
    bool launches_work() const override { return calls_stream; }
    bool launches_graphs() const override { return calls_graph; }
    bool has_loops() const override { return loops; }

    std::string name_;
    std::vector<Parameter> parameters_;
    std::uint32_t parameter_bytes = 0;
    std::uint32_t shared_bytes = 0, shared_align = 1;
    // Whether the code asks for the rank of its block in the cluster, or works in pairs of blocks.
    bool knows_rank = false;
    std::uint32_t frame_bytes = 0;  // a thread's largest use of local memory without recursion
    // Bytes allocated for a thread's frame, a multiple of local_align.
    std::uint32_t stack_bytes = 0;
    std::uint32_t local_align = 16;  // the largest alignment in the frame
    std::uint32_t local_top = 0;     // the offset in the frame at which alloca's memory begins
    std::uint32_t constants_bytes = 0, register_count = 0, threads_limit = 1024;
    Dim3 required{0, 0, 0}, cluster{0, 0, 0};
    std::uint32_t cluster_limit = 0;
    bool cluster_explicit = false, calls_runtime = false;
    bool calls_stream = false, calls_graph = false;  // functions of these kinds
    bool loops = false;                              // or recursion
    int version = 0, sm = 0;
    std::string_view source;  // the PTX text, owned by the image
    std::vector<FunctionCode> functions;
    std::vector<PlacedVariable> variables;

    std::vector<DecodedOp> code;
    std::vector<Origin> origins;
    // The instruction of a piece of code; null for control flow and loads of parameters.
    const Origin* origin_of(const DecodedOp& c) const {
        return c.origin == 0 ? nullptr : &origins[c.origin - 1];
    }
    std::uint32_t file_bytes = 0;  // size of a warp's register file
    std::vector<ConstantLanes> constants;
    // Special or Hidden, register; is_explicit_cluster's is a predicate.
    std::vector<std::pair<unsigned, std::int32_t>> specials;
    std::vector<CallSite> calls;
    std::vector<TextureSite> textures;
    std::vector<std::vector<std::int32_t>> tables;  // brx.idx: targets relative to the instruction
    std::vector<MatrixOperation> matrices;
    std::vector<TensorAccess> tensor_accesses;
    std::vector<TensorProduct> tensor_products;
    std::vector<TensorCopy> tensor_copies;
    std::uint32_t slots = 0;         // number of cached ranges
    std::uint32_t call_depth = 0;    // frames on a lane's return stack
    std::int32_t stack_pointer = 0;  // its register
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> constant_ranges;
    observe::KernelCounters counters;
    const std::shared_ptr<MachineCodeSlot> native = std::make_shared<MachineCodeSlot>();
    mutable std::once_flag stepped_once;
    mutable std::shared_ptr<const SteppedCode> stepped;  // made when the kernel is first stepped
};

inline constexpr std::uint32_t recursion_bytes = 128 * 1024, recursion_depth = 2048,
                               alloca_bytes = 128 * 1024;

}  // namespace cupola::cpu::interpreter
