// csrc/cpu/device/base/jit.cpp - reads JIT options and fills their buffers.
#include "cpu/device/base/jit.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "cpu/base/capability.hpp"
#include "cpu/device/base/failure.hpp"

namespace cupola::cpu {
namespace {

// ptxas gives a kernel at least this many registers, for every option.
constexpr unsigned fewest_registers = 24;

std::vector<void*> values_of(unsigned count, const CUjit_option* options, void** values) {
    require(count == 0 || (options && values));
    return std::vector<void*>(values, values + count);
}

using Transfer = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                             unsigned long);

// Copies by a system call, which reports unmapped memory. If the system forbids the call, this is a
// plain copy.
bool transfer(Transfer call, void* mine, void* theirs, std::size_t bytes, bool read) {
    const iovec local{mine, bytes}, remote{theirs, bytes};
    const ssize_t done = call(getpid(), &local, 1, &remote, 1, 0);
    if (done == static_cast<ssize_t>(bytes)) return true;
    if (done >= 0 || (errno != ENOSYS && errno != EPERM)) return false;
    std::memcpy(read ? mine : theirs, read ? theirs : mine, bytes);
    return true;
}

}  // namespace

JitOptions::JitOptions(unsigned count, const CUjit_option* options, void** values)
    : given_(values_of(count, options, values)),
      now_(given_),
      values_(values),
      begin_(std::chrono::steady_clock::now()) {
    for (unsigned i = 0; i < count; ++i)
        require(options[i] >= 0 && options[i] < CU_JIT_NUM_OPTIONS);
    options_.assign(options, options + count);
    const std::size_t most = place(CU_JIT_MAX_REGISTERS);
    require(most == absent || word(most) != 0);
}

std::size_t JitOptions::place(CUjit_option option) const {
    const auto found = std::find(options_.begin(), options_.end(), option);
    return found == options_.end() ? absent : static_cast<std::size_t>(found - options_.begin());
}

// Values have 32 bits; the rest of the pointer is ignored.
unsigned JitOptions::word(std::size_t place) const {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(given_[place]));
}

void JitOptions::set(std::size_t place, unsigned word) {
    const auto before = reinterpret_cast<std::uintptr_t>(now_[place]);
    now_[place] = reinterpret_cast<void*>((before & ~std::uintptr_t{0xffffffff}) | word);
}

unsigned JitOptions::register_limit() const {
    unsigned limit = 0;
    if (const std::size_t at = place(CU_JIT_MAX_REGISTERS); at != absent)
        limit = std::max(word(at), fewest_registers);
    // The register limit that lets a block of this size run.
    if (const std::size_t at = place(CU_JIT_THREADS_PER_BLOCK); at != absent && word(at) != 0) {
        const unsigned fit = Capability::registers_per_multiprocessor / word(at) / 8 * 8;
        limit = std::min(limit ? limit : 255, std::max(fit, fewest_registers));
    }
    return std::min(limit, 255u);
}

unsigned JitOptions::word_of(CUjit_option option, unsigned otherwise) const {
    const std::size_t at = place(option);
    return at == absent ? otherwise : word(at);
}

bool JitOptions::contracts() const {
    return word_of(CU_JIT_FMA, 1) != 0 && word_of(CU_JIT_OPTIMIZATION_LEVEL, 4) != 0 &&
           word_of(CU_JIT_GENERATE_DEBUG_INFO, 0) == 0;
}

// The value of the size option is the buffer's size on input and the text's length on output.
void JitOptions::write(CUjit_option buffer, CUjit_option size, const std::string& text) {
    const std::size_t length_at = place(size), buffer_at = place(buffer);
    if (length_at == absent) return;
    auto* const where = buffer_at == absent ? nullptr : static_cast<char*>(given_[buffer_at]);
    const unsigned room = word(length_at);
    std::size_t length = 0;
    if (where && room > 0) {
        length = std::min<std::size_t>(text.size(), room - 1);
        std::memcpy(where, text.data(), length);
        where[length] = '\0';
        if (length) ++length;
    }
    set(length_at, static_cast<unsigned>(length));
}

void JitOptions::finish() {
    const std::vector<void*> before = now_;
    write(CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, information);
    write(CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, errors);
    if (const std::size_t time = place(CU_JIT_WALL_TIME); time != absent) {
        const std::chrono::duration<float, std::milli> took =
            std::chrono::steady_clock::now() - begin_;
        const float milliseconds = took.count();
        unsigned bits;
        std::memcpy(&bits, &milliseconds, sizeof bits);
        set(time, bits);
    }
    if (now_ != before) publish(before);
}

// cuda.h requires the array to live as long as the link, but many programs pass a local one. So the
// link writes to it only if it still has the same values.
void JitOptions::publish(const std::vector<void*>& before) {
    std::vector<void*> there(before.size());
    const std::size_t bytes = before.size() * sizeof(void*);
    if (!transfer(process_vm_readv, there.data(), values_, bytes, true) || there != before) return;
    transfer(process_vm_writev, now_.data(), values_, bytes, false);
}

}  // namespace cupola::cpu
