// csrc/cpu/observe/observer.cpp - the observers of this process.
#include "cpu/observe/observer.hpp"

namespace cupola::cpu::observe {
namespace {

// Never destroyed: threads outlive static objects.
std::vector<Observer*>& connected() {
    static auto* const made = new std::vector<Observer*>;
    return *made;
}

}  // namespace

void connect(Observer& observer) { connected().push_back(&observer); }

std::vector<std::shared_ptr<GridObserver>> launched(const Launch& launch) {
    std::vector<std::shared_ptr<GridObserver>> grids;
    for (Observer* const each : connected())
        if (auto grid = each->launched(launch)) grids.push_back(std::move(grid));
    return grids;
}

std::shared_ptr<ModuleCounters> counters_of(const ptx::Module& module, std::string_view text) {
    for (Observer* const each : connected())
        if (auto counters = each->counters_of(module, text)) return counters;
    return nullptr;
}

void faulted(const Launch& launch, const FaultReport& report) {
    for (Observer* const each : connected()) each->faulted(launch, report);
}

}  // namespace cupola::cpu::observe
