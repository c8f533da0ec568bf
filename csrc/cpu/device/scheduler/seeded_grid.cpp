// csrc/cpu/device/scheduler/seeded_grid.cpp - runs the clusters of a grid in a seeded order, on one
// thread.
#include "cpu/device/scheduler/seeded_grid.hpp"

#include <optional>
#include <vector>

#include "cpu/base/seeded_order.hpp"
#include "cpu/device/scheduler/grid.hpp"

namespace cupola::cpu {
namespace {

// Time slices of each resident cluster without an end, after which one more starts: the resident
// clusters may wait for it.
constexpr std::uint32_t patience = 64;

}  // namespace

void run_seeded(Grid& grid) {
    SeededOrder& order = *grid.launch.order;
    // A cooperative grid's clusters are all resident.
    std::uint64_t room = grid.launch.cooperative ? grid.clusters : order.resident();
    std::vector<std::unique_ptr<ClusterRunner>> running, idle;
    std::uint64_t started = 0, waited = 0;
    grid.launch.cancel = [&]() -> std::optional<std::uint64_t> {
        if (started == grid.clusters) return std::nullopt;
        return order.cluster_at(started++, grid.clusters);
    };
    while (!grid.stop.load(std::memory_order_relaxed)) {
        while (started < grid.clusters && running.size() < room) {
            if (idle.empty()) idle.push_back(ClusterRunner::make(grid.launch));
            running.push_back(std::move(idle.back()));
            idle.pop_back();
            running.back()->begin(order.cluster_at(started++, grid.clusters));
        }
        if (running.empty()) return;
        const auto progress = running.front()->advance();
        if (progress == ClusterRunner::Progress::faulted)
            return grid.note(running.front()->take_fault());
        auto first = std::move(running.front());
        running.erase(running.begin());
        if (progress == ClusterRunner::Progress::running) {
            const auto count = static_cast<std::uint32_t>(running.size()) + 1;
            running.insert(running.begin() + order.place_after_turn(count), std::move(first));
            if (++waited < patience * running.size() || started == grid.clusters) continue;
            waited = 0;
            ++room;
            continue;
        }
        waited = 0;
        if (grid.launch.tick) grid.launch.tick();
        idle.push_back(std::move(first));
    }
}

}  // namespace cupola::cpu
