// csrc/cpu/interpreter/call_graph.cpp - call graph of a module: callees and recursion.
#include "cpu/interpreter/call_graph.hpp"

#include <algorithm>

namespace cupola::cpu::interpreter {

CallGraph::CallGraph(const ptx::Module& module)
    : module_(module), callees_(module.functions.size()) {
    const auto tidy = [](std::vector<std::uint32_t>& list) {
        std::sort(list.begin(), list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
    };
    for (std::uint32_t n = 0; n < callees_.size(); ++n) {
        for (const auto& call : module.functions[n].calls) {
            for (const std::uint32_t to : callees(module.functions[n], call))
                callees_[n].push_back(to);
            // Bounds memory: many indirect calls may each have many targets.
            if (callees_[n].size() > 4 * callees_.size()) tidy(callees_[n]);
        }
        tidy(callees_[n]);
    }
    find_rings();
}

// An indirect call may reach each function whose address is taken and whose parameters match the
// call. If the call lists targets, only those count. All targets of a call need one parameter
// layout.
std::vector<std::uint32_t> CallGraph::callees(const ptx::Function& caller,
                                              const ptx::Call& call) const {
    std::vector<std::uint32_t> found;
    if (call.pointer == ptx::absent) {
        if (module_.functions[call.function].defined) found.push_back(call.function);
        return found;
    }
    const auto suits = [&](const std::vector<std::uint32_t>& mine, const ptx::Function& f,
                           const std::vector<std::uint32_t>& theirs,
                           const std::vector<std::uint32_t>* first) {
        if (mine.size() != theirs.size()) return false;
        for (std::size_t n = 0; n < mine.size(); ++n) {
            const ptx::Variable& v = f.frame[theirs[n]];
            const std::uint64_t size = caller.frame[mine[n]].size;
            if (v.unsized ? size > v.size : size != v.size) return false;
            if (first && module_.functions[found[0]].frame[(*first)[n]].offset != v.offset)
                return false;
        }
        return true;
    };
    const auto consider = [&](std::uint32_t n) {
        const ptx::Function& f = module_.functions[n];
        if (!f.address_taken || !f.defined || f.entry) return;
        const ptx::Function* first = found.empty() ? nullptr : &module_.functions[found[0]];
        if (suits(call.arguments, f, f.formals, first ? &first->formals : nullptr) &&
            suits(call.results, f, f.results, first ? &first->results : nullptr))
            found.push_back(n);
    };
    if (call.targets != ptx::absent)
        for (const std::uint32_t n : module_.targets[call.targets]) consider(n);
    else
        for (std::uint32_t n = 0; n < module_.functions.size(); ++n) consider(n);
    return found;
}

// Tarjan's algorithm with an explicit stack: hostile call chains are long.
void CallGraph::find_rings() {
    const auto count = static_cast<std::uint32_t>(callees_.size());
    ring_.assign(count, ptx::absent);
    ringed_.assign(count, false);
    std::vector<std::uint32_t> number(count, ptx::absent), low(count), stack;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> path;
    std::uint32_t next = 0;
    for (std::uint32_t root = 0; root < count; ++root) {
        if (number[root] != ptx::absent) continue;
        path.push_back({root, 0});
        while (!path.empty()) {
            const std::uint32_t n = path.back().first;
            std::uint32_t& child = path.back().second;
            if (child == 0 && number[n] == ptx::absent) {
                number[n] = low[n] = next++;
                stack.push_back(n);
            }
            if (child < callees_[n].size()) {
                const std::uint32_t to = callees_[n][child++];
                if (to == n) ringed_[n] = true;
                if (number[to] == ptx::absent)
                    path.push_back({to, 0});
                else if (ring_[to] == ptx::absent)
                    low[n] = std::min(low[n], number[to]);
                continue;
            }
            path.pop_back();
            if (!path.empty()) low[path.back().first] = std::min(low[path.back().first], low[n]);
            if (low[n] != number[n]) continue;
            const bool many = stack.back() != n;
            std::uint32_t member;
            do {
                member = stack.back();
                stack.pop_back();
                ring_[member] = n;
                if (many) ringed_[member] = true;
            } while (member != n);
        }
    }
}

std::vector<std::uint32_t> CallGraph::reachable(std::uint32_t entry) const {
    std::vector<std::uint32_t> out;
    std::vector<bool> seen(callees_.size());
    std::vector<std::pair<std::uint32_t, std::uint32_t>> path{{entry, 0}};
    seen[entry] = true;
    while (!path.empty()) {
        auto& [n, child] = path.back();
        if (child == callees_[n].size()) {
            out.push_back(n);
            path.pop_back();
            continue;
        }
        const std::uint32_t to = callees_[n][child++];
        if (seen[to]) continue;
        seen[to] = true;
        path.push_back({to, 0});
    }
    return out;
}

}  // namespace cupola::cpu::interpreter
