// csrc/cpu/device/stream/memory_operation.cpp - writes words in a stream's order, and waits for
// them.
#include "cpu/device/stream/memory_operation.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"

namespace cupola::cpu {
namespace {

using Parameters = CUstreamBatchMemOpParams;

bool wide(const Parameters& it) {
    return it.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
           it.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

// NVIDIA's driver also refuses memory of a pool and managed memory.
void check_word(const MemoryMap& memory, CUdeviceptr address, std::size_t size, bool write) {
    require(address != 0 && address % size == 0 && memory.reaches(address, size, write));
    const auto found = memory.at(address);
    require(!found || (found->kind != Allocation::Kind::pool && !found->is_managed()));
}

// For both sizes: words are compared as integers of that size, and differences wrap.
template <class Word>
bool holds(Word there, Word value, unsigned flags) {
    switch (flags & 3) {
        case CU_STREAM_WAIT_VALUE_GEQ:
            return static_cast<std::make_signed_t<Word>>(there - value) >= 0;
        case CU_STREAM_WAIT_VALUE_EQ:
            return there == value;
        case CU_STREAM_WAIT_VALUE_AND:
            return (there & value) != 0;
        default:
            return static_cast<Word>(~(there | value)) != 0;
    }
}

template <class Word>
Word load(CUdeviceptr address) {
    return __atomic_load_n(reinterpret_cast<const Word*>(address), __ATOMIC_ACQUIRE);
}

enum class Outcome { waiting, done, gone, given_up };

// During the access, the memory cannot be freed or moved into a shared file.
Outcome look(const Parameters& it, Driver& driver) {
    MemoryMap& memory = driver.memory;
    const QuiesceGate::Pass pass(driver.gate);
    const MemoryMap::Pin pin(memory);
    const CUdeviceptr address = it.waitValue.address;
    if (!memory.accessible(address, wide(it) ? 8 : 4, false)) return Outcome::gone;
    const bool met = wide(it) ? holds<std::uint64_t>(load<std::uint64_t>(address),
                                                     it.waitValue.value64, it.waitValue.flags)
                              : holds<std::uint32_t>(load<std::uint32_t>(address),
                                                     it.waitValue.value, it.waitValue.flags);
    return met ? Outcome::done : Outcome::waiting;
}

Outcome write(const Parameters& it, Driver& driver) {
    MemoryMap& memory = driver.memory;
    const QuiesceGate::Pass pass(driver.gate);
    const MemoryMap::Pin pin(memory);
    const CUdeviceptr address = it.writeValue.address;
    if (!memory.accessible(address, wide(it) ? 8 : 4, true)) return Outcome::gone;
    memory.wrote(address, wide(it) ? 8 : 4);
    if (wide(it))
        __atomic_store_n(reinterpret_cast<std::uint64_t*>(address), it.writeValue.value64,
                         __ATOMIC_RELEASE);
    else
        __atomic_store_n(reinterpret_cast<std::uint32_t*>(address), it.writeValue.value,
                         __ATOMIC_RELEASE);
    return Outcome::done;
}

// The word may be set at any time, so this thread spins at first and then polls. The wait ends with
// the context and with the process.
Outcome await(const Parameters& it, const Context& context) {
    using namespace std::chrono_literals;
    auto pause = std::chrono::nanoseconds(0);
    for (;;) {
        const Outcome outcome = look(it, context.driver());
        if (outcome != Outcome::waiting) return outcome;
        if (!context.alive() || context.error() != CUDA_SUCCESS ||
            DriverState::get() != CUDA_SUCCESS)
            return Outcome::given_up;
        if (pause.count() == 0)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(pause);
        pause = std::min<std::chrono::nanoseconds>(pause + 1us, 200us);
    }
}

}  // namespace

void check(const MemoryOperations& operations) {
    const MemoryMap& memory = operations.context->driver().memory;
    for (const Parameters& it : operations.list) {
        switch (static_cast<int>(it.operation)) {
            case CU_STREAM_MEM_OP_WAIT_VALUE_32:
            case CU_STREAM_MEM_OP_WAIT_VALUE_64:
                // A flush is not supported, as on devices without one.
                require(!(it.waitValue.flags & CU_STREAM_WAIT_VALUE_FLUSH),
                        CUDA_ERROR_NOT_SUPPORTED);
                require(it.waitValue.flags <= CU_STREAM_WAIT_VALUE_NOR);
                check_word(memory, it.waitValue.address, wide(it) ? 8 : 4, false);
                break;
            case CU_STREAM_MEM_OP_WRITE_VALUE_32:
            case CU_STREAM_MEM_OP_WRITE_VALUE_64:
                require(it.writeValue.flags == CU_STREAM_WRITE_VALUE_DEFAULT);
                check_word(memory, it.writeValue.address, wide(it) ? 8 : 4, true);
                break;
            case CU_STREAM_MEM_OP_BARRIER:
                require(it.memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU);
                break;
            case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
                fail(CUDA_ERROR_NOT_SUPPORTED);
            default:
                fail(CUDA_ERROR_INVALID_VALUE);
        }
    }
}

std::unique_ptr<Operation> memory_operation(const MemoryOperations& operations) {
    check(operations);
    auto operation = task([operations](CUresult status) {
        if (status != CUDA_SUCCESS) return;
        Context& context = *operations.context;
        for (const Parameters& it : operations.list) {
            Outcome outcome = Outcome::done;
            if (it.operation == CU_STREAM_MEM_OP_BARRIER)
                std::atomic_thread_fence(std::memory_order_seq_cst);
            else if (it.operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ||
                     it.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64)
                outcome = write(it, context.driver());
            else
                outcome = await(it, context);
            if (outcome == Outcome::given_up) return;
            if (outcome == Outcome::gone)
                return context.poison(CUDA_ERROR_ILLEGAL_ADDRESS,
                                      "a word that a stream writes or waits for was freed");
        }
    });
    operation->aside = true;  // may wait for work of any stream
    return operation;
}

}  // namespace cupola::cpu
