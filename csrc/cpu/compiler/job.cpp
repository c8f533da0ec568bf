// csrc/cpu/compiler/job.cpp - emits the source of a job's kernels, and installs their machine code.
#include "cpu/compiler/job.hpp"

#include <dlfcn.h>

#include <exception>
#include <new>
#include <utility>

#include "cpu/analysis/pipeline.hpp"
#include "cpu/base/sha256.hpp"
#include "cpu/compiler/cache.hpp"
#include "cpu/interpreter/block_barrier.hpp"

namespace cupola::cpu::compiler {

using namespace interpreter;

namespace {

using State = MachineCodeSlot::State;

const DecodedOp* stay_at_pc(const DecodedOp* ip, Warp&, std::byte*) { return ip; }

// Makes the description of a kernel's machine code, without the code.
std::unique_ptr<MachineCode> frame_of(const KernelAnalysis& analysis) {
    auto native = std::make_unique<MachineCode>();
    native->code = analysis.kernel.code;
    native->entry.assign(native->code.size(), 0);
    for (DecodedOp& code : native->code) {
        native->handlers.push_back(code.run);
        code.run = &stay_at_pc;
    }
    for (const std::uint32_t at : analysis.entries()) native->entry[at] = 1;
    native->has_block_batch = !analysis.batch_path.empty();
    native->services = {native->code.data(),
                        native->handlers.data(),
                        native->entry.data(),
                        &halt,
                        &arrive,
                        &end_time_slice,
                        &set_mask,
                        &release_if_complete_of};
    return native;
}

// Launches use the machine code from now on.
void publish(MachineCodeSlot& slot, Tier tier, std::unique_ptr<MachineCode> made) {
    auto& owner = tier == Tier::quick ? slot.quick : slot.made;
    owner = std::move(made);
    slot.ready.store(owner.get(), std::memory_order_release);
    slot.state.store(State::ready, std::memory_order_release);
}

}  // namespace

void fail(MachineCodeSlot& slot, const std::string& why) noexcept {
    try {
        slot.failure = why;
    } catch (const std::bad_alloc&) {
        slot.failure = "no memory";  // a name this short needs no allocation
    }
    slot.failed.store(true, std::memory_order_release);
    if (slot.ready.load() == nullptr) slot.state.store(State::failed, std::memory_order_release);
}

void Job::fail_all(const char* why) noexcept {
    for (const auto& slot : slots)
        if (slot->state.load() == State::making) fail(*slot, why);
}

void Job::add(const KernelCode& kernel) {
    try {
        const KernelAnalysis analysis = analyse(kernel);
        auto frame = frame_of(analysis);
        Source emitted = source_of(analysis, slots.size(), tier);
        hint += hint_of(kernel);
        slots.reserve(slots.size() + 1);
        frames.reserve(frames.size() + 1);
        source.add(std::move(emitted));
        slots.push_back(kernel.native);
        frames.push_back(std::move(frame));
    } catch (const UnsupportedKernel& no) {
        fail(*kernel.native, "not compiled: " + no.why);
    } catch (const std::exception& no) {
        fail(*kernel.native, std::string("not compiled: ") + no.what());
    }
}

void Job::install(MachineCodeRun run) {
    frames[0]->run = run;
    publish(*slots[0], tier, std::move(frames[0]));
}

void Job::install(void* library, const std::string& why) {
    for (std::size_t n = 0; n < slots.size(); ++n) {
        void* run = library ? dlsym(library, name_of_kernel(n).c_str()) : nullptr;
        if (!run) {
            fail(*slots[n], library ? "the compiled library has no function of it" : why);
            continue;
        }
        frames[n]->run = reinterpret_cast<MachineCodeRun>(run);
        publish(*slots[n], tier, std::move(frames[n]));
    }
}

std::string hint_of(const KernelCode& kernel) {
    const std::string about = kernel.name() + "\n" + std::to_string(kernel.code.size()) + "\n" +
                              std::to_string(kernel.file_bytes) + "\n" +
                              std::to_string(kernel.parameter_bytes);
    return sha256(about).substr(0, Cache::hint_digits);
}

}  // namespace cupola::cpu::compiler
