// csrc/cpu/traffic/traffic.cpp - sums the accesses of launches by kernel, line and kind.
#include "cpu/traffic/traffic.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/execute.hpp"
#include "cpu/interpreter/stepped_code.hpp"
#include "ptx/source_line.hpp"

namespace cupola::cpu::traffic {
namespace {

using interpreter::BlockState;
using interpreter::DecodedOp;
using interpreter::Effect;
using interpreter::Warp;
using observe::Touch;

enum Space : std::uint8_t { in_global, in_shared };
enum How : std::uint8_t { loads, stores, atomics };

struct Sum {
    std::uint64_t warps = 0, lanes = 0, bytes = 0, pieces = 0, least = 0;
    void add(const Sum& other) {
        warps += other.warps;
        lanes += other.lanes;
        bytes += other.bytes;
        pieces += other.pieces;
        least += other.least;
    }
};

using Line = std::tuple<std::uint32_t, Space, How>;  // of PTX
using Place = std::tuple<std::string, Space, How>;   // of the source

struct KernelSum {
    std::map<Place, Sum> accesses;
    std::unordered_set<std::uint64_t> read, written;  // sectors
};

// Never destroyed: threads outlive static objects.
struct Totals {
    std::atomic<bool> on{false};
    std::mutex mutex;
    std::map<std::string, KernelSum> kernels;
};

Totals& totals() {
    static auto* const made = new Totals;
    return *made;
}

class GridTraffic final : public observe::GridObserver {
  public:
    explicit GridTraffic(const Launch& launch)
        : kernel(static_cast<const interpreter::KernelCode&>(*launch.kernel)),
          stepped(interpreter::stepped_code(kernel)) {}
    std::unique_ptr<observe::BlockObserver> of_block(BlockState& block) override;

    const interpreter::KernelCode& kernel;
    const std::shared_ptr<const interpreter::SteppedCode> stepped;
};

class BlockTraffic final : public observe::BlockObserver {
  public:
    BlockTraffic(GridTraffic& grid, BlockState& block) : grid_(grid), block_(block) {}

    void after(Warp& w, const DecodedOp* ip, std::uint32_t mask) override {
        const Effect& effect = grid_.stepped->effect_at(ip);
        switch (effect.kind) {
            case Effect::Kind::load:
                add(w, ip, mask, loads, effect.bytes * ip->count);
                break;
            case Effect::Kind::store:
                add(w, ip, mask, stores, effect.bytes * ip->count);
                break;
            case Effect::Kind::atomic:
                add(w, ip, mask, atomics, effect.bytes);
                break;
            default:
                break;
        }
        flush();
    }
    // The lanes of an instruction come one after the other, and after() follows the last.
    void touch(const Warp&, const DecodedOp* ip, unsigned, std::uint64_t address,
               std::uint64_t bytes, Touch how) override {
        if (how == Touch::signal || bytes == 0) return;
        if (ip->line != line_) flush();
        line_ = ip->line;
        add(how == Touch::read ? loads : how == Touch::write ? stores : atomics, address, bytes);
    }
    void end() override {
        flush();
        std::lock_guard lock(totals().mutex);
        KernelSum& all = totals().kernels[grid_.kernel.name()];
        for (const auto& [line, sum] : sums_) {
            const auto [ptx, space, how] = line;
            std::string place = ptx::source_line(grid_.kernel.source, ptx);
            if (place.empty()) place = "PTX line " + std::to_string(ptx);
            all.accesses[{std::move(place), space, how}].add(sum);
        }
        all.read.merge(read_);
        all.written.merge(written_);
        sums_.clear();
        read_.clear();
        written_.clear();
    }

  private:
    void add(const Warp& w, const DecodedOp* ip, std::uint32_t mask, How how, unsigned bytes) {
        line_ = ip->line;
        for (; mask != 0; mask &= mask - 1) add(how, w.address[__builtin_ctz(mask)], bytes);
    }
    void add(How how, std::uint64_t address, std::uint64_t bytes) {
        if (block_.is_shared(address)) {
            const std::uint64_t at = address - block_.interpreter::Block::cluster;
            shared_[how].push_back({at % block_.cluster_stride, bytes});
        } else if (!block_.is_own(address)) {
            global_[how].push_back({address, bytes});
        }
    }
    // Sums the accesses of one instruction of a warp.
    void flush() {
        for (const How how : {loads, stores, atomics}) {
            std::vector<Access>&global = global_[how], &shared = shared_[how];
            if (!global.empty()) {
                const auto sectors = units_of(global.data(), global.data() + global.size(), sector);
                (how == loads ? read_ : written_).insert(sectors.begin(), sectors.end());
                sum(in_global, how, global, {sectors.size(), least_sectors(global)});
            }
            if (!shared.empty()) sum(in_shared, how, shared, wavefronts_of(shared));
            global.clear();
            shared.clear();
        }
    }
    void sum(Space space, How how, const std::vector<Access>& accesses, const Pieces& pieces) {
        Sum one{1, accesses.size(), 0, pieces.count, pieces.least};
        for (const Access& each : accesses) one.bytes += each.bytes;
        sums_[{line_, space, how}].add(one);
    }

    GridTraffic& grid_;
    BlockState& block_;
    std::uint32_t line_ = 0;
    std::vector<Access> global_[3], shared_[3];  // of one instruction, by How
    std::map<Line, Sum> sums_;
    std::unordered_set<std::uint64_t> read_, written_;
};

std::unique_ptr<observe::BlockObserver> GridTraffic::of_block(BlockState& block) {
    return std::make_unique<BlockTraffic>(*this, block);
}

class Traffic final : public observe::Observer {
  public:
    std::shared_ptr<observe::GridObserver> launched(const Launch& launch) override {
        if (!totals().on.load(std::memory_order_relaxed)) return nullptr;
        return std::make_shared<GridTraffic>(launch);
    }
};

}  // namespace

void count(bool on) { totals().on = on; }

std::string take() {
    std::map<std::string, KernelSum> kernels;
    {
        std::lock_guard lock(totals().mutex);
        kernels.swap(totals().kernels);
    }
    std::string text;
    const auto field = [&text](const auto& value) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>)
            text += '\t' + std::to_string(value);
        else
            text += '\t' + std::string(value);
    };
    constexpr const char* spaces[] = {"global", "shared"};
    constexpr const char* hows[] = {"load", "store", "atomic"};
    for (const auto& [name, kernel] : kernels) {
        for (const auto& [at, sum] : kernel.accesses) {
            const auto& [place, space, how] = at;
            text += "access";
            field(name);
            field(spaces[space]);
            field(hows[how]);
            for (const std::uint64_t each :
                 {sum.warps, sum.lanes, sum.bytes, sum.pieces, sum.least})
                field(each);
            field(place);
            text += '\n';
        }
        text += "footprint";
        field(name);
        field(kernel.read.size());
        field(kernel.written.size());
        text += '\n';
    }
    return text;
}

observe::Observer& observer() {
    static auto* const made = new Traffic;
    return *made;
}

}  // namespace cupola::cpu::traffic
