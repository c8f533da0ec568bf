// csrc/cpu/device/base/held_output.cpp - holds the text of device printf, up to a limit.
#include "cpu/device/base/held_output.hpp"

#include <algorithm>
#include <cstring>

namespace cupola::cpu {

// Never destroyed: threads outlive static objects.
HeldOutput& HeldOutput::get() {
    static auto* const one = new HeldOutput;
    return *one;
}

void HeldOutput::add(std::string_view text, std::size_t limit) {
    if (text.empty()) return;
    std::lock_guard lock(mutex_);
    texts_.emplace_back(text);
    std::size_t bytes = bytes_.load() + text.size();
    while (bytes > limit && !texts_.empty()) {
        bytes -= texts_.front().size();
        lost_ += texts_.front().size();
        texts_.pop_front();
    }
    // Where all text was lost, a reader still finds an empty line.
    if (texts_.empty()) {
        texts_.emplace_back("\n");
        bytes = 1;
    }
    bytes_.store(bytes, std::memory_order_release);
}

std::size_t HeldOutput::take(char* to, std::size_t room) {
    std::lock_guard lock(mutex_);
    if (lost_ != 0) {
        std::string note = "[" + std::to_string(lost_) +
                           " bytes of printf were lost before this: they exceeded "
                           "CU_LIMIT_PRINTF_FIFO_SIZE; raise it, or synchronize more often]\n";
        bytes_.fetch_add(note.size());
        texts_.push_front(std::move(note));
        lost_ = 0;
    }
    std::size_t taken = 0;
    while (taken < room && !texts_.empty()) {
        std::string& first = texts_.front();
        const std::size_t part = std::min(room - taken, first.size());
        std::memcpy(to + taken, first.data(), part);
        taken += part;
        if (part == first.size())
            texts_.pop_front();
        else
            first.erase(0, part);
    }
    bytes_.fetch_sub(taken);
    return taken;
}

}  // namespace cupola::cpu
