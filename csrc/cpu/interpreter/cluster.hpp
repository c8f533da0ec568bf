// csrc/cpu/interpreter/cluster.hpp - a running cluster: blocks, shared memory, barrier.
//
// The blocks' shared memories are contiguous. A launch without clusters has clusters of one block.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cpu/interpreter/block.hpp"

namespace cupola::cpu::interpreter {

class ClusterState : public ClusterRunner {
  public:
    explicit ClusterState(const Launch& launch);
    void begin(std::uint64_t cluster) override;
    std::uint64_t run_block_batch(std::uint64_t first, std::uint64_t end) override;
    Progress advance() override;
    Fault take_fault() override { return std::move(*fault_); }
    bool is_outdated() const override { return blocks_[0]->is_outdated(); }

    unsigned size() const { return size_; }
    Dim3 id() const { return id_; }  // %clusterid
    std::uintptr_t shared_of(unsigned rank) const { return shared_ + rank * stride_; }
    std::uint64_t stride() const { return stride_; }

    // The cluster's barrier: the running lanes of `w` arrive.
    void arrive(Warp& w) {
        w.arrived |= w.mask;
        news_ = true;
    }
    // Lanes have exited: they count as arrived.
    void exited() { news_ = used_; }
    void use_barrier();
    bool uses_barrier() const { return used_; }

  protected:
    const Launch& launch() const { return launch_; }
    Progress progress_of(bool moved, bool live);

    std::vector<std::unique_ptr<BlockState>> blocks_;
    std::optional<Fault> fault_;

  private:
    void locate(std::uint64_t cluster, std::uint32_t& x, std::uint32_t& y, std::uint32_t& z) const;
    bool release_if_complete();
    Progress stuck();

    const Launch& launch_;
    const unsigned size_;
    const std::uint64_t in_row_, in_column_;  // size of the grid in clusters
    std::uint64_t stride_;
    Aligned<std::byte> memory_;
    std::uintptr_t shared_ = 0;
    Dim3 id_;
    bool used_ = false;  // whether this cluster uses the barrier
    bool news_ = false;  // lanes arrived since the last check
};

}  // namespace cupola::cpu::interpreter
