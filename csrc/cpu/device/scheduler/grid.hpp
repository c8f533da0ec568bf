// csrc/cpu/device/scheduler/grid.hpp - a grid: one launch while it runs.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "cpu/device/scheduler/cluster_queue.hpp"
#include "cpu/interpreter/execute.hpp"

namespace cupola::cpu {

class Context;
class CooperativeGrid;

struct Grid {
    Launch launch;
    const Context* context = nullptr;
    const std::atomic<bool>* context_alive = nullptr;
    int priority = 0;

    std::uint64_t clusters = 0;
    ClusterQueue queue;  // of a grid whose clusters run one after another on each worker
    std::shared_ptr<CooperativeGrid> cooperative;  // only for a cooperative grid
    // The workspace of cooperative groups: its size in bytes, and the barrier.
    std::uint32_t workspace[2] = {sizeof workspace, 0};
    bool pauses = false;  // an observer may wait for a person
    std::atomic<bool> stop{false};
    std::atomic<bool> timed_out{false};
    std::atomic<bool> printed{false};
    std::atomic<int> helpers{0};
    std::chrono::steady_clock::time_point deadline;
    std::mutex mutex;
    std::optional<Fault> fault;  // the first fault of any worker

    void note(Fault fault);  // also stops the grid
};

}  // namespace cupola::cpu
