// csrc/cpu/interpreter/seeded.hpp - a cluster whose blocks, warps and lanes run in a seeded order.
#pragma once

#include "cpu/interpreter/block.hpp"

namespace cupola::cpu::interpreter {

class SeededCluster final : public ClusterState {
  public:
    using ClusterState::ClusterState;
    Progress advance() override;
};

}  // namespace cupola::cpu::interpreter
