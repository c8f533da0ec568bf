// csrc/cpu/jit.cpp - reading JIT options and filling their buffers.
#include "cpu/jit.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cpu/failure.hpp"

namespace cupola::cpu {
JitOptions::JitOptions(unsigned count, const CUjit_option* options, void** values)
    : values_(values), begin_(std::chrono::steady_clock::now()) {
    require(count == 0 || (options && values));
    for (unsigned i = 0; i < count; ++i)
        require(options[i] >= 0 && options[i] < CU_JIT_NUM_OPTIONS);
    options_.assign(options, options + count);
}

void** JitOptions::value(CUjit_option option) {
    const auto found = std::find(options_.begin(), options_.end(), option);
    return found == options_.end() ? nullptr : values_ + (found - options_.begin());
}

// The size option is the buffer's size on the way in and the text's length on the way out, in the
// option's value itself.
void JitOptions::write(CUjit_option buffer, CUjit_option size, const std::string& text) {
    void** const bytes = value(size);
    if (!bytes) return;
    void** const where = value(buffer);
    const auto room = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(*bytes));
    std::size_t length = 0;
    if (where && *where && room > 0) {
        length = std::min<std::size_t>(text.size(), room - 1);
        std::memcpy(*where, text.data(), length);
        static_cast<char*>(*where)[length] = '\0';
        if (length) ++length;
    }
    *bytes = reinterpret_cast<void*>(length);
}

void JitOptions::finish() {
    write(CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, information);
    write(CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, errors);
    if (void** const time = value(CU_JIT_WALL_TIME)) {
        const std::chrono::duration<float, std::milli> took =
            std::chrono::steady_clock::now() - begin_;
        const float milliseconds = took.count();
        *time = nullptr;
        std::memcpy(time, &milliseconds, sizeof milliseconds);
    }
}

}  // namespace cupola::cpu
