// csrc/cpu/sanitizer/write_watch.cpp - compares the addresses of stores and atomics with the watch.
#include "cpu/sanitizer/write_watch.hpp"

#include <atomic>
#include <mutex>
#include <utility>

#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/execute.hpp"
#include "cpu/interpreter/stepped_code.hpp"

namespace cupola::cpu::sanitizer {
namespace {

using interpreter::BlockState;
using interpreter::DecodedOp;
using interpreter::Effect;
using interpreter::lanes;
using interpreter::Warp;
using observe::Touch;

// Never destroyed: threads outlive static objects.
struct Watch {
    std::mutex mutex;
    std::uint64_t address = 0, bytes = 0;
    std::atomic<bool> on{false};
    std::string last;
};

Watch& watch() {
    static auto* const made = new Watch;
    return *made;
}

class GridWatch final : public observe::GridObserver {
  public:
    explicit GridWatch(const Launch& launch)
        : stepped_(interpreter::stepped_code(
              static_cast<const interpreter::KernelCode&>(*launch.kernel))) {
        std::lock_guard lock(watch().mutex);
        address_ = watch().address;
        bytes_ = watch().bytes;
    }
    std::unique_ptr<observe::BlockObserver> of_block(BlockState& block) override;

    const Effect& effect(const DecodedOp* ip) const { return stepped_->effect_at(ip); }
    bool hits(std::uint64_t address, std::uint64_t bytes) const {
        return address < address_ + bytes_ && address_ < address + bytes;
    }

  private:
    const std::shared_ptr<const interpreter::SteppedCode> stepped_;
    std::uint64_t address_ = 0, bytes_ = 0;
};

class BlockWatch final : public observe::BlockObserver {
  public:
    BlockWatch(GridWatch& grid, BlockState& block) : grid_(grid), block_(block) {}

    void begin(std::uint32_t x, std::uint32_t y, std::uint32_t z) override { index_ = {x, y, z}; }

    void after(Warp& w, const DecodedOp* ip, std::uint32_t mask) override {
        const Effect& effect = grid_.effect(ip);
        const bool store = effect.kind == Effect::Kind::store;
        if (!store && effect.kind != Effect::Kind::atomic) return;
        const std::uint64_t bytes = std::uint64_t{effect.bytes} * (store ? ip->count : 1);
        for (; mask != 0; mask &= mask - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(mask));
            if (grid_.hits(w.address[lane], bytes)) note(w, ip, lane);
        }
    }
    void touch(const Warp& w, const DecodedOp* ip, unsigned lane, std::uint64_t address,
               std::uint64_t bytes, Touch how) override {
        if (how != Touch::read && grid_.hits(address, bytes)) note(w, ip, lane);
    }

  private:
    void note(const Warp& w, const DecodedOp* ip, unsigned lane) {
        std::string text =
            block_.thread_text(index_, w.index * lanes + lane) + ", " + block_.line_text(ip->line);
        std::lock_guard lock(watch().mutex);
        watch().last = std::move(text);
    }

    GridWatch& grid_;
    BlockState& block_;
    Dim3 index_{};
};

std::unique_ptr<observe::BlockObserver> GridWatch::of_block(BlockState& block) {
    return std::make_unique<BlockWatch>(*this, block);
}

class WriteWatch final : public observe::Observer {
  public:
    std::shared_ptr<observe::GridObserver> launched(const Launch& launch) override {
        if (!watch().on.load(std::memory_order_relaxed)) return nullptr;
        return std::make_shared<GridWatch>(launch);
    }
};

}  // namespace

void watch_writes(std::uint64_t address, std::uint64_t bytes) {
    std::lock_guard lock(watch().mutex);
    watch().address = address;
    watch().bytes = bytes;
    watch().last.clear();
    watch().on = bytes != 0;
}

std::string last_write() {
    std::lock_guard lock(watch().mutex);
    return watch().last;
}

observe::Observer& write_watch() {
    static auto* const made = new WriteWatch;
    return *made;
}

}  // namespace cupola::cpu::sanitizer
