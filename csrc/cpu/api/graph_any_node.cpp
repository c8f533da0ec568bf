// csrc/cpu/api/graph_any_node.cpp - cu* entry points: generic node parameters, enabled nodes of an
// executable graph, and attributes of kernel nodes.
#include "cpu/api/graph.hpp"

#include <algorithm>

#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/capture.hpp"
#include "cpu/device/launch/launch.hpp"

// cuda.h maps the plain name to the newest version.
#undef cuGraphAddNode
#undef cuGraphKernelNodeGetAttribute
#undef cuGraphKernelNodeSetAttribute

using namespace cupola::cpu;

namespace {

constexpr int by_clone = 0, by_move = 1;  // CUgraphChildGraphNodeOwnership

CUresult check(const CUgraphNodeParams* it) {
    const bool clean =
        it && !it->reserved0[0] && !it->reserved0[1] && !it->reserved0[2] && !it->reserved2;
    return clean ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// All versions of a node's structure have the same first fields, which the older calls use.
template <class Older, class Newer>
const Older* older(const Newer& newer) {
    static_assert(sizeof(Older) <= sizeof(Newer));
    return reinterpret_cast<const Older*>(&newer);
}

// Attributes of the launch shape change the node's shape. Other attributes are stored without
// effect.
void put_attribute(KernelCall& call, CUlaunchAttributeID id, const CUlaunchAttributeValue& value) {
    CUlaunchConfig config{};
    config.gridDimX = call.shape.grid.x;
    config.gridDimY = call.shape.grid.y;
    config.gridDimZ = call.shape.grid.z;
    CUlaunchAttribute one{};
    one.id = id;
    one.value = value;
    config.attrs = &one;
    config.numAttrs = 1;
    const LaunchShape shape = shape_of(Driver::get(), config);
    if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
        call.shape.cooperative = shape.cooperative;
    } else if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
        call.shape.cluster = shape.cluster;
        call.shape.cluster_given = true;
    } else if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
        call.shape.priority = shape.priority;
    } else {
        call.attributes[id] = value;
    }
}

bool of_kernel_nodes(CUlaunchAttributeID id) {
    switch (static_cast<int>(id)) {
        case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
            return true;
        default:
            return false;
    }
}

CUlaunchAttributeValue attribute_of(const KernelCall& call, CUlaunchAttributeID id) {
    CUlaunchAttributeValue value{};
    if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
        value.cooperative = call.shape.cooperative;
    } else if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
        const Dim3 cluster = call.shape.cluster_given ? call.shape.cluster : Dim3{0, 0, 0};
        value.clusterDim = {cluster.x, cluster.y, cluster.z};
    } else if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
        value.priority = call.shape.priority.value_or(0);
    } else if (const auto it = call.attributes.find(id); it != call.attributes.end()) {
        value = it->second;
    }
    return value;
}

// A node of a kind that can be disabled.
Node& switchable(GraphExec& exec, CUgraphNode handle) {
    Node& node = exec.node(handle);
    require(node.type() == CU_GRAPH_NODE_TYPE_KERNEL || node.type() == CU_GRAPH_NODE_TYPE_MEMCPY ||
            node.type() == CU_GRAPH_NODE_TYPE_MEMSET);
    return node;
}

// The node owns its bodies, which are empty at first.
CUresult add_conditional(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                         CUDA_CONDITIONAL_NODE_PARAMS& it) {
    return add_node(node, graph, before, count, [&](Graph& to) {
        const unsigned most = it.type == CU_GRAPH_COND_TYPE_IF      ? 2
                              : it.type == CU_GRAPH_COND_TYPE_WHILE ? 1
                                                                    : ~0u;
        require(it.type >= CU_GRAPH_COND_TYPE_IF && it.type <= CU_GRAPH_COND_TYPE_SWITCH);
        require(it.size > 0 && it.size <= most);
        // The handle may belong to any graph that contains this one or is inside it.
        const auto conditions = to.outermost().all_conditions();
        const auto found =
            std::find_if(conditions.begin(), conditions.end(),
                         [&](const auto& condition) { return condition->handle() == it.handle; });
        require(found != conditions.end() && !(*found)->taken);
        require(!it.ctx || it.ctx == (*found)->context()->handle());
        ConditionalNode made;
        made.condition = *found;
        made.kind = it.type;
        made.handles = std::make_shared<std::vector<CUgraph>>();
        for (unsigned n = 0; n < it.size; ++n) {
            made.bodies.push_back(Graph::make(to.driver()));
            made.handles->push_back(made.bodies.back()->handle());
        }
        made.condition->taken = true;
        it.phGraph_out = made.handles->data();
        return made;
    });
}

// The graph becomes part of the node, with its handle and those of its nodes.
CUresult move_child(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                    CUgraph child) {
    return add_node(node, graph, before, count, [&](Graph& to) {
        auto what = Driver::get().graphs.get(child, CUDA_ERROR_INVALID_VALUE);
        require(!what->holds(to) && !what->owner && !Capture::into(*what));
        require(!what->has_conditions(), CUDA_ERROR_NOT_SUPPORTED);
        return ChildGraph{std::move(what), true};
    });
}

}  // namespace

CUPOLA_API CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* out, CUgraph graph,
                                                   CUcontext context, unsigned int initial,
                                                   unsigned int flags) {
    return locked([&] {
        require(out && !(flags & ~CU_GRAPH_COND_ASSIGN_DEFAULT));
        const auto of = Driver::get().graphs.get(graph, CUDA_ERROR_INVALID_VALUE);
        of->conditions.push_back(std::make_shared<Conditional>(
            context_or_current(context), initial, (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0));
        *out = of->conditions.back()->handle();
    });
}

CUPOLA_API CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                   size_t count, CUgraphNodeParams* it) {
    return entry([&] {
        require(check(it) == CUDA_SUCCESS);
        switch (static_cast<int>(it->type)) {
            case CU_GRAPH_NODE_TYPE_KERNEL:
                return cuGraphAddKernelNode_v2(node, graph, before, count,
                                               older<CUDA_KERNEL_NODE_PARAMS_v2>(it->kernel));
            case CU_GRAPH_NODE_TYPE_MEMCPY:
                return cuGraphAddMemcpyNode(node, graph, before, count, &it->memcpy.copyParams,
                                            it->memcpy.copyCtx);
            case CU_GRAPH_NODE_TYPE_MEMSET:
                return cuGraphAddMemsetNode(node, graph, before, count,
                                            older<CUDA_MEMSET_NODE_PARAMS>(it->memset),
                                            it->memset.ctx);
            case CU_GRAPH_NODE_TYPE_HOST:
                return cuGraphAddHostNode(node, graph, before, count,
                                          older<CUDA_HOST_NODE_PARAMS>(it->host));
            case CU_GRAPH_NODE_TYPE_GRAPH: {
                // CUDA 12.8's headers have no name for the field after the handle, `ownership`.
                const int ownership = static_cast<int>(it->reserved1[1]);
                require(ownership == by_clone || ownership == by_move);
                const auto add = ownership == by_move ? move_child : cuGraphAddChildGraphNode;
                return add(node, graph, before, count, it->graph.graph);
            }
            case CU_GRAPH_NODE_TYPE_EMPTY:
                return cuGraphAddEmptyNode(node, graph, before, count);
            case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
                return cuGraphAddEventWaitNode(node, graph, before, count, it->eventWait.event);
            case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
                return cuGraphAddEventRecordNode(node, graph, before, count, it->eventRecord.event);
            case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
                return cuGraphAddMemAllocNode(node, graph, before, count,
                                              const_cast<CUDA_MEM_ALLOC_NODE_PARAMS*>(
                                                  older<CUDA_MEM_ALLOC_NODE_PARAMS>(it->alloc)));
            case CU_GRAPH_NODE_TYPE_MEM_FREE:
                return cuGraphAddMemFreeNode(node, graph, before, count, it->free.dptr);
            case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
                return cuGraphAddBatchMemOpNode(node, graph, before, count,
                                                older<CUDA_BATCH_MEM_OP_NODE_PARAMS>(it->memOp));
            case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
            case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
                return CUDA_ERROR_NOT_SUPPORTED;
            case CU_GRAPH_NODE_TYPE_CONDITIONAL:
                return add_conditional(node, graph, before, count, it->conditional);
            default:
                return CUDA_ERROR_INVALID_VALUE;
        }
    });
}

CUPOLA_API CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                      const CUgraphEdgeData* edges, size_t count,
                                      CUgraphNodeParams* parameters) {
    return entry([&] {
        require(before || count == 0);
        for (size_t i = 0; edges && i < count; ++i) check_edge(edges[i], *node_of(before[i]));
        return cuGraphAddNode(node, graph, before, count, parameters);
    });
}

CUPOLA_API CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* it) {
    return entry([&] {
        require(check(it) == CUDA_SUCCESS);
        switch (static_cast<int>(it->type)) {
            case CU_GRAPH_NODE_TYPE_KERNEL:
                return cuGraphKernelNodeSetParams_v2(node,
                                                     older<CUDA_KERNEL_NODE_PARAMS_v2>(it->kernel));
            case CU_GRAPH_NODE_TYPE_MEMCPY:
                return cuGraphMemcpyNodeSetParams(node, &it->memcpy.copyParams);
            case CU_GRAPH_NODE_TYPE_MEMSET:
                return cuGraphMemsetNodeSetParams(node, older<CUDA_MEMSET_NODE_PARAMS>(it->memset));
            case CU_GRAPH_NODE_TYPE_HOST:
                return cuGraphHostNodeSetParams(node, older<CUDA_HOST_NODE_PARAMS>(it->host));
            case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
                return cuGraphEventWaitNodeSetEvent(node, it->eventWait.event);
            case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
                return cuGraphEventRecordNodeSetEvent(node, it->eventRecord.event);
            case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
                return cuGraphBatchMemOpNodeSetParams(
                    node, older<CUDA_BATCH_MEM_OP_NODE_PARAMS>(it->memOp));
            case CU_GRAPH_NODE_TYPE_EMPTY:
                return set_node<EmptyNode>(node, [] { return EmptyNode{}; });
            case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
            case CU_GRAPH_NODE_TYPE_MEM_FREE:
            case CU_GRAPH_NODE_TYPE_CONDITIONAL:
                return CUDA_ERROR_NOT_SUPPORTED;
            default:
                return CUDA_ERROR_INVALID_VALUE;
        }
    });
}

CUPOLA_API CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                             CUgraphNodeParams* it) {
    return entry([&] {
        require(check(it) == CUDA_SUCCESS);
        switch (static_cast<int>(it->type)) {
            case CU_GRAPH_NODE_TYPE_KERNEL:
                return cuGraphExecKernelNodeSetParams_v2(
                    exec, node, older<CUDA_KERNEL_NODE_PARAMS_v2>(it->kernel));
            case CU_GRAPH_NODE_TYPE_MEMCPY:
                return cuGraphExecMemcpyNodeSetParams(exec, node, &it->memcpy.copyParams,
                                                      it->memcpy.copyCtx);
            case CU_GRAPH_NODE_TYPE_MEMSET:
                return cuGraphExecMemsetNodeSetParams(
                    exec, node, older<CUDA_MEMSET_NODE_PARAMS>(it->memset), it->memset.ctx);
            case CU_GRAPH_NODE_TYPE_HOST:
                return cuGraphExecHostNodeSetParams(exec, node,
                                                    older<CUDA_HOST_NODE_PARAMS>(it->host));
            case CU_GRAPH_NODE_TYPE_GRAPH:
                return cuGraphExecChildGraphNodeSetParams(exec, node, it->graph.graph);
            case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
                return cuGraphExecEventWaitNodeSetEvent(exec, node, it->eventWait.event);
            case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
                return cuGraphExecEventRecordNodeSetEvent(exec, node, it->eventRecord.event);
            case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
                return cuGraphExecBatchMemOpNodeSetParams(
                    exec, node, older<CUDA_BATCH_MEM_OP_NODE_PARAMS>(it->memOp));
            case CU_GRAPH_NODE_TYPE_EMPTY:
                return set_exec_node<EmptyNode>(exec, node, [] { return EmptyNode{}; });
            default:
                return CUDA_ERROR_INVALID_VALUE;
        }
    });
}

CUPOLA_API CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec handle, CUgraphNode node,
                                                       CUgraph child) {
    return locked([&] {
        const auto exec = Driver::get().graph_execs.get(handle, CUDA_ERROR_INVALID_VALUE);
        const auto graph = Driver::get().graphs.get(child, CUDA_ERROR_INVALID_VALUE);
        std::lock_guard lock(exec->mutex);
        require(exec->update_child(node, *graph) == CU_GRAPH_EXEC_UPDATE_SUCCESS,
                CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    });
}

CUPOLA_API CUresult cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node,
                                          unsigned int enabled) {
    return entry([&] {
        const auto exec = Driver::get().graph_execs.get(handle, CUDA_ERROR_INVALID_VALUE);
        std::lock_guard lock(exec->mutex);
        switchable(*exec, node).enabled = enabled != 0;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node,
                                          unsigned int* enabled) {
    return entry([&] {
        const auto exec = Driver::get().graph_execs.get(handle, CUDA_ERROR_INVALID_VALUE);
        require(enabled);
        std::lock_guard lock(exec->mutex);
        *enabled = switchable(*exec, node).enabled;
        return CUDA_SUCCESS;
    });
}

// Attributes of kernel nodes.

CUPOLA_API CUresult cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUlaunchAttributeID id,
                                                  CUlaunchAttributeValue* out) {
    return locked([&] {
        require(out && of_kernel_nodes(id));
        const auto node = node_of(handle);
        *out = attribute_of(work_of<KernelCall>(*node), id);
    });
}

CUPOLA_API CUresult cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUlaunchAttributeID id,
                                                  const CUlaunchAttributeValue* value) {
    return locked([&] {
        require(value && of_kernel_nodes(id));
        const auto node = node_of(handle);
        put_attribute(work_of<KernelCall>(*node), id, *value);
    });
}

CUPOLA_API CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
    return locked([&] {
        const auto into = node_of(to), of = node_of(from);
        auto& call = work_of<KernelCall>(*into);
        const auto& given = work_of<KernelCall>(*of);
        call.shape.cooperative = given.shape.cooperative;
        call.shape.cluster = given.shape.cluster;
        call.shape.cluster_given = given.shape.cluster_given;
        call.shape.priority = given.shape.priority;
        call.attributes = given.attributes;
    });
}
