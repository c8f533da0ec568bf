// csrc/runtime/abi/owner.cpp - the functions of cupola/owner.h.
#include "cupola/owner.h"

#include "runtime/graph/graph.hpp"

using namespace cupola;

long cupola_owner_references(const void* owner) { return Owner::references_of(owner); }

int cupola_owner_list(const cupola_graph* graph,
                      void (*visit)(void* argument, void* owner, void (*release)(void*),
                                    int is_call),
                      void* argument) {
    return guard([&] {
        Graph& g = *unwrap(const_cast<cupola_graph*>(check_not_null(graph, "graph")));
        check_not_null(reinterpret_cast<void*>(visit), "visit");
        for (const auto& [_, retained] : g.retained.by_node) {
            std::lock_guard<std::mutex> lock(retained->mutex);
            for (const Ref<Object>& object : retained->held)
                if (const auto* owner = dynamic_cast<const Owner*>(object.get()))
                    visit(argument, owner->get(), owner->release_function(), 0);
        }
        for (const Ref<Callback>& call : g.retained.calls)
            visit(argument, call->get(), call->release_function(), 1);
    });
}
