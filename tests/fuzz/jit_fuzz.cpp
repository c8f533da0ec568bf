// tests/fuzz/jit_fuzz.cpp - options of a module load or a link, of any kind and number: refused, or
// logs and times are written where they say and nowhere else.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cpu/device/base/jit.cpp"

namespace {

using cupola::cpu::Failure;
using cupola::cpu::JitOptions;

class Bytes {
  public:
    Bytes(const unsigned char* data, std::size_t size) : data_(data), size_(size) {}
    template <class T>
    T take() {
        T x{};
        const std::size_t n = std::min(sizeof x, size_);
        std::memcpy(&x, data_, n);
        data_ += n;
        size_ -= n;
        return x;
    }
    std::string rest(std::size_t most) const {
        return {reinterpret_cast<const char*>(data_), std::min(size_, most)};
    }

  private:
    const unsigned char* data_;
    std::size_t size_;
};

// One of the two logs. Every size in the options is the size of its buffer, so that a write of one
// byte too many is seen.
struct LogBuffer {
    CUjit_option buffer, length;
    std::string text;
    std::vector<char> bytes;
};

void* number(std::uint64_t x) { return reinterpret_cast<void*>(x); }

std::uint32_t low(const void* value) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(value));
}
std::uint64_t high(const void* value) { return reinterpret_cast<std::uintptr_t>(value) >> 32; }

const std::size_t none = -1;

std::size_t first(const std::vector<CUjit_option>& options, CUjit_option option) {
    for (std::size_t i = 0; i < options.size(); ++i)
        if (options[i] == option) return i;
    return none;
}

void check(bool holds) {
    if (!holds) std::abort();
}

void check_log(const LogBuffer& log, const std::vector<CUjit_option>& options,
               const std::vector<void*>& before, const std::vector<void*>& after) {
    const std::size_t length = first(options, log.length), buffer = first(options, log.buffer);
    if (length == none) return;
    const auto told = low(after[length]);
    if (buffer == none || !before[buffer] || log.bytes.empty()) return check(told == 0);
    const std::size_t written = std::min(log.text.size(), log.bytes.size() - 1);
    check(told == (written ? written + 1 : 0) && log.bytes[written] == '\0');
    check(std::memcmp(log.bytes.data(), log.text.data(), written) == 0);
}

void check_time(const void* const& value) {
    float milliseconds = 0;
    std::memcpy(&milliseconds, &value, sizeof milliseconds);
    check(std::isfinite(milliseconds) && milliseconds >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    Bytes bytes(data, size);
    LogBuffer logs[] = {
        {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, {}, {}},
        {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, {}, {}},
    };
    for (LogBuffer& log : logs) log.bytes.assign(bytes.take<std::uint16_t>() % 4096, 'x');
    std::vector<CUjit_option> options(bytes.take<std::uint8_t>() % 48);
    std::vector<void*> values(options.size());
    bool known = true;
    for (std::size_t i = 0; i < options.size(); ++i) {
        const auto kind = bytes.take<std::uint8_t>();
        const int id = kind < 64 ? kind : bytes.take<std::int32_t>();
        std::memcpy(&options[i], &id, sizeof id);
        known &= id >= 0 && id < CU_JIT_NUM_OPTIONS;
        values[i] = number(bytes.take<std::uint64_t>());
        for (LogBuffer& log : logs) {
            // The fuzzer invents no pointer; the upper half of a size is ignored.
            if (id == log.buffer) values[i] = kind % 2 ? log.bytes.data() : nullptr;
            if (id == log.length)
                values[i] = number(reinterpret_cast<std::uintptr_t>(values[i]) >> 32 << 32 |
                                   log.bytes.size());
        }
    }
    const auto before = values;
    const auto kinds = options;
    try {
        const auto count = static_cast<unsigned>(options.size());
        JitOptions jit(count, options.data(), values.data());
        std::vector<CUjit_option>().swap(options);  // the caller may free it
        logs[0].text = jit.information = bytes.rest(8192);
        logs[1].text = jit.errors = bytes.rest(300);
        jit.finish();
    } catch (const Failure& failure) {
        const std::size_t most = first(kinds, CU_JIT_MAX_REGISTERS);
        const bool none_allowed = most != none && low(before[most]) == 0;
        check((!known || none_allowed) && failure.code == CUDA_ERROR_INVALID_VALUE &&
              values == before);
        return 0;
    }
    check(known);
    for (const LogBuffer& log : logs) check_log(log, kinds, before, values);
    const std::size_t time = first(kinds, CU_JIT_WALL_TIME);
    if (time != none) check_time(values[time]);
    for (std::size_t i = 0; i < values.size(); ++i) {
        check(high(values[i]) == high(before[i]));  // a value has 32 bits
        const bool output =
            i == time || i == first(kinds, logs[0].length) || i == first(kinds, logs[1].length);
        check(output || values[i] == before[i]);
    }
    return 0;
}
