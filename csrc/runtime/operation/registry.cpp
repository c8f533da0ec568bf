// csrc/runtime/operation/registry.cpp - keeps operations by name.
#include "runtime/operation/registry.hpp"

#include <map>
#include <shared_mutex>

namespace cupola {
namespace {

struct Registry {
    std::shared_mutex mutex;
    std::map<std::string, Ref<Operation>, std::less<>> operations;
};

// Never destroyed: a framework's threads may call an operation while the process ends.
Registry& registry() {
    static Registry* const all = new Registry;
    return *all;
}

}  // namespace

void register_operation(const std::string& name, Ref<Operation> operation) {
    Registry& all = registry();
    std::lock_guard<std::shared_mutex> lock(all.mutex);
    const auto [at, added] = all.operations.try_emplace(name, operation);
    if (!added && at->second.get() != operation.get())
        fail(CUPOLA_ERROR_VALUE, "another operation is registered as " + name);
}

Operation& registered_operation(std::string_view name) {
    Registry& all = registry();
    std::shared_lock<std::shared_mutex> lock(all.mutex);
    const auto at = all.operations.find(name);
    if (at == all.operations.end())
        fail(CUPOLA_ERROR_NOT_FOUND,
             "no operation is registered as " + std::string(name) +
                 ": a compiled program of another process was loaded before its operation; call "
                 "the operation once first");
    return *at->second;
}

}  // namespace cupola
