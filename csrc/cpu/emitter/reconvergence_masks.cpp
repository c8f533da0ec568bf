// csrc/cpu/emitter/reconvergence_masks.cpp - lanes that wait in masks for the lanes that run first.
//
// A branch that the lanes of a warp take differently leaves some of them waiting at a later block,
// the reconvergence point. While the running lanes stay in blocks of the same function that never
// wait for lanes, each waiting lane is one bit in the mask of the point, and `mask` has the running
// lanes. `w.mask` has both. Before a time slice ends, or before any other block, the masks become
// groups of the lane queue. So lanes run in the same order as in the interpreter.
#include "cpu/emitter/reconvergence_masks.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cupola::cpu::compiler {

using std::to_string;

namespace {

constexpr std::size_t max_points_between = 4;

}  // namespace

// Whether block b can run while lanes of the warp wait in masks.
bool ReconvergenceMasks::may_be_partial(std::uint32_t b) const {
    const Block& block = analysis_.blocks[b];
    return std::none_of(
        analysis_.ops.begin() + block.first, analysis_.ops.begin() + block.end,
        [](const OpEffects& op) { return op.changes_flow || op.may_retry || op.entry_after; });
}

// Reconvergence points that a branch from block b to a later block skips.
std::vector<std::uint32_t> ReconvergenceMasks::points_between(std::uint32_t b,
                                                              std::uint32_t to) const {
    return {points_.upper_bound(b), points_.lower_bound(std::max(to, b + 1))};
}

bool ReconvergenceMasks::keeps_masks(std::uint32_t b, std::uint32_t to) const {
    if (!part_.has(to) || !may_be_partial(to) || (to <= b && !part_.is_head(to))) return false;
    const std::vector<std::uint32_t> skipped = points_between(b, to);
    return skipped.size() <= max_points_between &&
           std::all_of(skipped.begin(), skipped.end(),
                       [this](std::uint32_t point) { return may_be_partial(point); });
}

bool ReconvergenceMasks::diverges_by_mask(std::uint32_t b, std::uint32_t to, std::uint32_t& low,
                                          std::uint32_t& high) const {
    low = std::min(to, b + 1);
    high = std::max(to, b + 1);
    return low != high && may_be_partial(b) && part_.has(high) && keeps_masks(b, low);
}

// Finds the reconvergence points, and the blocks that run while lanes may wait at such a point. A
// branch that skips a point makes its own target a point. So the search repeats until no point is
// added.
void ReconvergenceMasks::find_points() {
    const std::size_t count = analysis_.blocks.size();
    points_.clear();
    partial_.assign(count, false);
    for (unsigned passes = 16;; --passes) {
        std::vector<std::int32_t> change(count + 1);
        std::set<std::uint32_t> points = points_;
        const auto wait_at = [&](std::uint32_t point, std::uint32_t first) {
            points.insert(point);
            ++change[first];
            --change[point];
        };
        for (std::uint32_t b = part_.first(); b <= part_.last(); ++b) {
            const OpEffects& last = analysis_.ops[analysis_.blocks[b].end - 1];
            std::uint32_t low = 0, high = 0;
            if (last.kind == Kind::branch &&
                diverges_by_mask(b, analysis_.block_at(last.targets[0]), low, high))
                // The target is a point, because the branch itself ends under a mask.
                wait_at(high, std::min(low, b));
            if (!partial_[b]) continue;
            for (const std::uint32_t to : analysis_.blocks[b].successors) {
                const std::vector<std::uint32_t> skipped = points_between(b, to);
                if (!skipped.empty() && keeps_masks(b, to)) wait_at(to, skipped.front());
            }
        }
        std::vector<bool> partial(count);
        std::int32_t spans = 0;
        for (std::uint32_t b = 0; b < count; ++b)
            partial[b] = (spans += change[b]) > 0 && may_be_partial(b);
        if (points == points_ && partial == partial_) break;
        points_ = std::move(points);
        partial_ = std::move(partial);
        if (passes != 0) continue;
        points_.clear();
        partial_.assign(count, false);
        break;
    }
}

void ReconvergenceMasks::emit_points() {
    find_points();
    if (points_.empty()) return;
    out_.emit("std::uint32_t waiting[" + to_string(points_.size()) + "] = {};");
    std::string starts;
    for (const std::uint32_t point : points_)
        starts += (starts.empty() ? "" : ", ") + to_string(analysis_.blocks[point].first);
    out_.emit("static constexpr std::uint32_t points[] = {" + starts + "};");
}

std::string ReconvergenceMasks::waiting_at(std::uint32_t point) const {
    return "waiting[" + to_string(std::distance(points_.begin(), points_.find(point))) + "]";
}

void ReconvergenceMasks::emit_enqueue_waiting() {
    out_.emit("if (mask != w.mask) enqueue_waiting(w, mask, waiting, points, code);");
}

void ReconvergenceMasks::emit_arrival(std::uint32_t b, std::uint32_t target) {
    if (keeps_masks(b, target))
        for (const std::uint32_t point : points_between(b, target))
            out_.emit("if (" + waiting_at(point) + " != 0 && code + " +
                      to_string(analysis_.blocks[point].first) + " < w.limit) { " +
                      waiting_at(target) + " |= mask; mask = " + waiting_at(point) + "; " +
                      waiting_at(point) + " = 0; goto L" + to_string(point) + "; }");
    if (target > b && points_.count(target) != 0)
        out_.emit("mask |= " + waiting_at(target) + "; " + waiting_at(target) + " = 0;");
}

}  // namespace cupola::cpu::compiler
