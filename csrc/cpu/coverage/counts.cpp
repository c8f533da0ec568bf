// csrc/cpu/coverage/counts.cpp - collects counts, and gives them to the file.
#include "cpu/coverage/counts.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "cpu/base/sha256.hpp"
#include "cpu/coverage/module_counts.hpp"
#include "cpu/coverage/record.hpp"

namespace cupola::cpu::coverage {
namespace {

struct State {
    std::mutex mutex;
    std::atomic<bool> on{false};
    std::atomic<std::uint32_t> context{0};
    std::string file;
    std::map<std::string, std::shared_ptr<ModuleCounts>> modules;  // by digest
    std::set<std::string> described;                               // modules, in the file
    std::vector<std::string> contexts{""};
    std::map<std::string, std::uint32_t, std::less<>> numbers{{"", 0}};
};

// Never destroyed: threads outlive static objects.
State& state() {
    static auto* const made = new State;
    return *made;
}

bool write_locked(State& all, std::string& error) {
    Record record;
    std::vector<std::string> described;
    for (const auto& [digest, module] : all.modules) {
        const auto counts = module->take();
        const bool fresh = all.described.count(digest) == 0;
        if (!fresh && counts.empty()) continue;
        record.begin_module(digest);
        if (fresh) record.describe(module->plan);
        if (fresh) described.push_back(digest);
        for (const auto& [context, functions] : counts)
            record.add_counts(all.contexts[context], functions);
    }
    if (!record.append_to(all.file, error)) return false;
    all.described.insert(described.begin(), described.end());
    return true;
}

// The counts of a module, or null where it has no line information or nothing is counted. Modules
// of one text share their counts.
std::shared_ptr<ModuleCounts> counts_of(const ptx::Module& module, std::string_view text) {
    if (!is_on()) return nullptr;
    ModulePlan plan = place_counters(module, text);
    if (plan.lines.empty()) return nullptr;
    std::string digest = sha256(text);
    State& all = state();
    std::lock_guard lock(all.mutex);
    auto& found = all.modules[digest];
    if (!found) found = std::make_shared<ModuleCounts>(digest, std::move(plan));
    return found;
}

class CoverageObserver final : public observe::Observer {
  public:
    std::shared_ptr<observe::ModuleCounters> counters_of(const ptx::Module& module,
                                                         std::string_view text) override {
        return counts_of(module, text);
    }
};

}  // namespace

bool start(const std::string& file, std::string& error) {
    State& all = state();
    std::lock_guard lock(all.mutex);
    if (all.on.load() && !write_locked(all, error)) return false;
    all.file = absolute_path(file);
    all.described.clear();
    all.on.store(Record().append_to(all.file, error));
    return all.on.load();
}

bool write(std::string& error) {
    State& all = state();
    std::lock_guard lock(all.mutex);
    return !all.on.load() || write_locked(all, error);
}

bool stop(std::string& error) {
    State& all = state();
    std::lock_guard lock(all.mutex);
    const bool written = !all.on.load() || write_locked(all, error);
    all.on.store(false);
    all.modules.clear();
    return written;
}

bool is_on() { return state().on.load(std::memory_order_relaxed); }

void switch_context(std::string_view name) {
    State& all = state();
    std::lock_guard lock(all.mutex);
    const auto [at, fresh] =
        all.numbers.emplace(name, static_cast<std::uint32_t>(all.contexts.size()));
    if (fresh) all.contexts.emplace_back(name);
    all.context.store(at->second);
}

std::uint32_t context() { return state().context.load(std::memory_order_relaxed); }

observe::Observer& observer() {
    static auto* const made = new CoverageObserver;
    return *made;
}

}  // namespace cupola::cpu::coverage
