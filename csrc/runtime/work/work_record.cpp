// csrc/runtime/work/work_record.cpp - records the device work of one call.
#include "runtime/work/work_record.hpp"

#include <cstring>

namespace cupola {

bool WorkRecord::start() {
    const Driver& driver = stream_->context.driver;
    // A kernel that prints marks the rest of the process, and changes nothing about the work.
    constexpr unsigned harmless = Driver::recorded | Driver::prints | Driver::beside_capture;
    if (driver.instrumented.load() & ~harmless) return false;
    if (Flight::is_traced() || stream_->flight.capturing()) return false;
    return started_ = enter(*this);
}

void WorkRecord::stop() noexcept {
    if (started_) leave();
    started_ = false;
}

bool WorkRecord::noted(const Stream& stream) noexcept {
    if (&stream != stream_.get()) usable_ = false;
    return !skip_;
}

bool WorkRecord::launch(Kernel& kernel, const cupola_dimensions& dimensions,
                        const cupola_attributes* attributes, void* const* pointers,
                        Stream& stream) {
    if (attributes) usable_ = false;
    Step step{Step::launch, Ref<Kernel>::share(&kernel), dimensions, 0, 0, 0, {}};
    step.words.resize((kernel.parameter_bytes + 7) / 8);
    for (std::size_t i = 0; i < kernel.parameters().size(); ++i) {
        const Parameter& p = kernel.parameters()[i];
        std::memcpy(reinterpret_cast<char*>(step.words.data()) + p.offset, pointers[i], p.size);
    }
    steps_.push_back(std::move(step));
    return noted(stream);
}

bool WorkRecord::fill(std::uint64_t to, std::uint32_t value, int width, std::size_t count,
                      Stream& stream) {
    steps_.push_back({Step::fill, {}, {}, value, width, count, {to}});
    return noted(stream);
}

bool WorkRecord::copy(std::uint64_t to, std::uint64_t from, std::size_t bytes, Stream& stream) {
    steps_.push_back({Step::copy, {}, {}, 0, 0, bytes, {to, from}});
    return noted(stream);
}

void WorkRecord::allocated(Memory& memory) { allocations_.push_back(Ref<Memory>::share(&memory)); }

}  // namespace cupola
