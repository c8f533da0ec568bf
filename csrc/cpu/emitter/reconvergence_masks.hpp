// csrc/cpu/emitter/reconvergence_masks.hpp - lanes that wait in masks for the lanes that run first.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cpu/analysis/kernel_analysis.hpp"
#include "cpu/emitter/cpp_text.hpp"
#include "cpu/emitter/function_part.hpp"

namespace cupola::cpu::compiler {

class ReconvergenceMasks {
  public:
    ReconvergenceMasks(const KernelAnalysis& analysis, CppText& out, const FunctionPart& part)
        : analysis_(analysis), out_(out), part_(part) {}

    // Finds the reconvergence points of the part, and declares their masks.
    void emit_points();
    bool has_points() const { return !points_.empty(); }
    bool is_point(std::uint32_t b) const { return points_.count(b) != 0; }
    // Whether block b runs while lanes may wait in masks.
    bool is_partial(std::uint32_t b) const { return partial_[b]; }
    // Whether lanes can branch from block b to block `to` while other lanes wait in masks.
    bool keeps_masks(std::uint32_t b, std::uint32_t to) const;
    // Whether the lanes of a divergent branch at block b run under a mask. The lanes that run first
    // continue at block `low`, and the other lanes wait at block `high`.
    bool diverges_by_mask(std::uint32_t b, std::uint32_t to, std::uint32_t& low,
                          std::uint32_t& high) const;
    std::string waiting_at(std::uint32_t point) const;
    // Moves the lanes that wait in masks to the lane queue.
    void emit_enqueue_waiting();
    // Emitted before running lanes branch to a later block. Lanes that wait at a block on the way
    // run first, and lanes that wait at the later block join the running lanes.
    void emit_arrival(std::uint32_t b, std::uint32_t target);

  private:
    bool may_be_partial(std::uint32_t b) const;
    std::vector<std::uint32_t> points_between(std::uint32_t b, std::uint32_t to) const;
    void find_points();

    const KernelAnalysis& analysis_;
    CppText& out_;
    const FunctionPart& part_;
    std::set<std::uint32_t> points_;  // blocks at which lanes wait
    std::vector<bool> partial_;       // by block
};

}  // namespace cupola::cpu::compiler
