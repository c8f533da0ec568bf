// csrc/cpu/device/launch/graph.cpp - nodes, edges and their topological order.
#include "cpu/device/launch/graph.hpp"

#include <algorithm>
#include <iterator>

#include "cpu/device/driver/driver.hpp"
#include "cpu/device/stream/user_object.hpp"

namespace cupola::cpu {

CUgraphNodeType type_of(const Work& work) {
    static constexpr CUgraphNodeType types[] = {
        CU_GRAPH_NODE_TYPE_KERNEL,       CU_GRAPH_NODE_TYPE_MEMCPY,
        CU_GRAPH_NODE_TYPE_MEMSET,       CU_GRAPH_NODE_TYPE_HOST,
        CU_GRAPH_NODE_TYPE_GRAPH,        CU_GRAPH_NODE_TYPE_EMPTY,
        CU_GRAPH_NODE_TYPE_WAIT_EVENT,   CU_GRAPH_NODE_TYPE_EVENT_RECORD,
        CU_GRAPH_NODE_TYPE_MEM_ALLOC,    CU_GRAPH_NODE_TYPE_MEM_FREE,
        CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CU_GRAPH_NODE_TYPE_CONDITIONAL};
    static_assert(std::size(types) == std::variant_size_v<Work>);
    return types[work.index()];
}

std::vector<std::shared_ptr<Graph>> inner_graphs(const Work& work) {
    if (const auto* child = std::get_if<ChildGraph>(&work)) return {child->graph};
    if (const auto* node = std::get_if<ConditionalNode>(&work)) return node->bodies;
    return {};
}

std::shared_ptr<Graph> Graph::make(Driver& driver) {
    auto graph = std::make_shared<Graph>(driver);
    graph->known_ = true;
    driver.graphs.add(graph);
    return graph;
}

void Graph::forget() {
    if (!known_) return;
    known_ = false;
    for (auto& node : nodes_) {
        driver_.nodes.remove(node.get());
        for (const auto& inner : inner_graphs(node->work)) inner->forget();
    }
    driver_.graphs.remove(this);
}

Node& Graph::add(Work work, const std::vector<Node*>& before) {
    for (const Node* node : before) require(has(*node));
    auto node = std::make_shared<Node>();
    node->graph = this;
    node->work = std::move(work);
    for (const auto& inner : inner_graphs(node->work)) inner->owner = node.get();
    Node& added = *node;
    if (known_) driver_.nodes.add(node);
    nodes_.push_back(std::move(node));
    for (Node* one : before) link(*one, added);
    return added;
}

void Graph::remove(Node& node) {
    for (Node* other : std::vector<Node*>(node.before)) unlink(*other, node);
    for (Node* other : std::vector<Node*>(node.after)) unlink(node, *other);
    for (const auto& inner : inner_graphs(node.work)) inner->forget();
    driver_.nodes.remove(&node);
    const auto it = std::find_if(nodes_.begin(), nodes_.end(),
                                 [&](const auto& mine) { return mine.get() == &node; });
    nodes_.erase(it);
}

void Graph::link(Node& from, Node& to) {
    require(has(from) && has(to) && &from != &to);
    require(std::find(from.after.begin(), from.after.end(), &to) == from.after.end());
    from.after.push_back(&to);
    to.before.push_back(&from);
}

void Graph::unlink(Node& from, Node& to) {
    const auto out = std::find(from.after.begin(), from.after.end(), &to);
    require(out != from.after.end());
    from.after.erase(out);
    to.before.erase(std::find(to.before.begin(), to.before.end(), &from));
}

std::shared_ptr<Graph> Graph::clone(bool known) const {
    auto copy = known ? make(driver_) : std::make_shared<Graph>(driver_);
    copy->objects = objects;
    copy->conditions = conditions;
    std::map<const Node*, Node*> twins;
    for (const auto& node : nodes_) {
        Work work = node->work;
        if (auto* child = std::get_if<ChildGraph>(&work)) child->graph = child->graph->clone(known);
        if (auto* choice = std::get_if<ConditionalNode>(&work))
            for (auto& body : choice->bodies) body = body->clone(known);
        Node& twin = copy->add(std::move(work), {});
        twin.origin = node->handle();
        twins[node.get()] = &twin;
    }
    for (const auto& node : nodes_)
        for (const Node* before : node->before) copy->link(*twins[before], *twins[node.get()]);
    return copy;
}

std::vector<Node*> Graph::sorted() const {
    std::map<const Node*, std::size_t> missing;
    std::vector<Node*> order, ready;
    for (const auto& node : nodes_) {
        missing[node.get()] = node->before.size();
        if (node->before.empty()) ready.push_back(node.get());
    }
    for (std::size_t next = 0; next < ready.size(); ++next) {
        Node* node = ready[next];
        order.push_back(node);
        for (Node* after : node->after)
            if (--missing[after] == 0) ready.push_back(after);
    }
    if (order.size() != nodes_.size()) order.clear();
    return order;
}

bool Graph::holds(const Graph& graph) const {
    if (&graph == this) return true;
    return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
        const auto inner = inner_graphs(node->work);
        return std::any_of(inner.begin(), inner.end(),
                           [&](const auto& each) { return each->holds(graph); });
    });
}

bool Graph::has_conditions() const {
    return !conditions.empty() || std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) {
        const auto inner = inner_graphs(node->work);
        return std::any_of(inner.begin(), inner.end(),
                           [](const auto& each) { return each->has_conditions(); });
    });
}

bool Graph::has_memory() const {
    return has_own_memory() || std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) {
               const auto inner = inner_graphs(node->work);
               return std::any_of(inner.begin(), inner.end(),
                                  [](const auto& each) { return each->has_memory(); });
           });
}

bool Graph::has_own_memory() const {
    return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) {
        return std::holds_alternative<AllocateNode>(node->work) ||
               std::holds_alternative<FreeNode>(node->work);
    });
}

bool Graph::is_moved() const {
    const auto* child = owner ? std::get_if<ChildGraph>(&owner->work) : nullptr;
    return child && child->moved;
}

Graph& Graph::outermost() {
    Graph* graph = this;
    while (graph->owner) graph = graph->owner->graph;
    return *graph;
}

std::vector<std::shared_ptr<Conditional>> Graph::all_conditions() const {
    auto all = conditions;
    for (const auto& node : nodes_)
        for (const auto& inner : inner_graphs(node->work)) {
            const auto more = inner->all_conditions();
            all.insert(all.end(), more.begin(), more.end());
        }
    return all;
}

}  // namespace cupola::cpu
