// csrc/cpu/interpreter/device_call.cpp - a call of the device runtime by one lane.
#include "cpu/interpreter/device_call.hpp"

#include "cpu/interpreter/device_runtime.hpp"

namespace cupola::cpu::interpreter {
namespace {

class LaneCall final : public DeviceCall {
  public:
    LaneCall(BlockState& block, Warp& w, const DecodedOp* ip, unsigned lane)
        : block_(block), warp_(w), ip_(ip), lane_(lane) {
        const Dim3& grid = block.launch().grid;
        const std::uint32_t* const at = block.index_of_block;
        this->block = (std::uint64_t{at[2]} * grid.y + at[1]) * grid.x + at[0];
        thread = w.index * lanes + lane;
    }

    std::byte* reach(std::uint64_t address, std::uint64_t bytes, std::uint64_t align,
                     bool write) override {
        return block_.reach(warp_, ip_, lane_, address, bytes, align,
                            write ? observe::Touch::write : observe::Touch::read);
    }
    void allocated(std::uint64_t address, std::uint64_t bytes) override {
        block_.notify([&](auto& each) { each.allocated(address, rounded(bytes, 4)); });
    }

  private:
    BlockState& block_;
    Warp& warp_;
    const DecodedOp* const ip_;
    const unsigned lane_;
};

}  // namespace

bool call_device_function(BlockState& block, Warp& w, const DecodedOp* ip, unsigned lane,
                          std::byte* frame, const CallSite& site) {
    LaneCall call(block, w, ip, lane);
    for (std::size_t n = 0; n < site.arguments.size(); ++n)
        call.arguments[n] = frame + site.arguments[n].from;
    if (!site.results.empty()) call.result = frame + site.results[0].to;
    const DeviceOutcome outcome = block.launch().runtime->call(*site.runtime, call);
    if (outcome == DeviceOutcome::stopped)
        block.fault(w, ip, Fault::Kind::stopped, lane, "a grid that it launched has failed", 0);
    return outcome == DeviceOutcome::done;
}

}  // namespace cupola::cpu::interpreter
