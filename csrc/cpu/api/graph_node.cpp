// csrc/cpu/api/graph_node.cpp - cu* entry points: nodes of graphs and their parameters.
#include "cpu/api/graph.hpp"

#include <cstring>
#include <type_traits>

#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/capture.hpp"
#include "cpu/device/module/module.hpp"
#include "cpu/device/stream/event.hpp"
#include "cpu/device/texture/array.hpp"

// cuda.h maps the plain name to the newest version.
#undef cuGraphAddKernelNode
#undef cuGraphKernelNodeGetParams
#undef cuGraphKernelNodeSetParams
#undef cuGraphExecKernelNodeSetParams

using namespace cupola::cpu;

namespace {

// The newer structure starts with the older one and can name the kernel in another way. It does not
// contain a node's attributes, which stay as they are in `before`.
KernelCall kernel_of(const CUDA_KERNEL_NODE_PARAMS_v1* it, CUkernel kernel, CUcontext context,
                     const KernelCall* before) {
    require(it);
    LaunchShape shape = before ? before->shape : LaunchShape{};
    // A cluster shape that came from the previous kernel does not belong to the node.
    if (before && before->function->attributes.required_cluster(before->function->kernel()).x)
        shape.cluster_given = false;
    shape.grid = {it->gridDimX, it->gridDimY, it->gridDimZ};
    shape.block = {it->blockDimX, it->blockDimY, it->blockDimZ};
    shape.shared = it->sharedMemBytes;
    CUfunction function = it->func ? it->func : reinterpret_cast<CUfunction>(kernel);
    auto in = it->func ? Driver::get().contexts.get(function_of(it->func)->context(),
                                                    CUDA_ERROR_INVALID_HANDLE)
                       : context_or_current(context);
    return kernel_call(function_of(function), shape, std::move(in), it->kernelParams, it->extra);
}
KernelCall kernel_of(const CUDA_KERNEL_NODE_PARAMS_v2* it, const KernelCall* before = nullptr) {
    require(it);
    return kernel_of(reinterpret_cast<const CUDA_KERNEL_NODE_PARAMS_v1*>(it), it->kern, it->ctx,
                     before);
}
KernelCall kernel_of(const CUDA_KERNEL_NODE_PARAMS_v1* it, const KernelCall* before = nullptr) {
    return kernel_of(it, nullptr, nullptr, before);
}

// The pointers are valid until the node is changed.
template <class Parameters>
CUresult show_kernel(CUgraphNode handle, Parameters* out) {
    return locked([&] {
        require(out);
        const auto node = node_of(handle);
        auto& call = work_of<KernelCall>(*node);
        node->pointers.clear();
        for (const auto& parameter : call.function->kernel().parameters())
            node->pointers.push_back(call.parameters.data() + parameter.offset);
        *out = {};
        out->func = call.function->handle();
        out->gridDimX = call.shape.grid.x;
        out->gridDimY = call.shape.grid.y;
        out->gridDimZ = call.shape.grid.z;
        out->blockDimX = call.shape.block.x;
        out->blockDimY = call.shape.block.y;
        out->blockDimZ = call.shape.block.z;
        out->sharedMemBytes = call.shape.shared;
        out->kernelParams = node->pointers.data();
    });
}

Copy checked_box(const CUDA_MEMCPY3D* it) {
    require(it);
    Copy copy = box_copy(*it);
    check(Driver::get().memory, copy);
    copy.given = std::make_shared<const CUDA_MEMCPY3D>(*it);
    return copy;
}

template <class Place>
void show_side(const Side& side, Place place) {
    if (side.array) {
        const Texels& texels = side.array->texels();
        const std::size_t offset = side.address - texels.begin;
        place.type = CU_MEMORYTYPE_ARRAY;
        place.array = side.array->handle();
        place.z = offset / texels.slice;
        place.y = offset % texels.slice / texels.row;
        place.x = offset % texels.row;
        return;
    }
    place.type = side.space == Side::Space::host     ? CU_MEMORYTYPE_HOST
                 : side.space == Side::Space::device ? CU_MEMORYTYPE_DEVICE
                                                     : CU_MEMORYTYPE_UNIFIED;
    if (side.space == Side::Space::host)
        place.host = reinterpret_cast<void*>(side.address);
    else
        place.device = side.address;
    place.pitch = side.pitch;
    place.height = side.pitch ? side.slice / side.pitch : 0;
}

Fill checked_fill(const CUDA_MEMSET_NODE_PARAMS* it) {
    require(it && it->width && it->height);
    const Fill fill{it->dst, it->pitch, it->value, it->elementSize, it->width, it->height};
    check(Driver::get().memory, fill);
    return fill;
}

HostCall checked_host(const CUDA_HOST_NODE_PARAMS* it) {
    require(it && it->fn);
    return {it->fn, it->userData};
}

// Event record and event wait nodes.
template <class T>
T with_event(CUevent event) {
    return {Driver::get().events.get(event, CUDA_ERROR_INVALID_VALUE)};
}

template <class T>
CUresult add_event(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                   CUevent event) {
    return add_node(node, graph, before, count, [&](Graph&) { return with_event<T>(event); });
}

template <class T>
CUresult get_event(CUgraphNode handle, CUevent* out) {
    return locked([&] {
        require(out);
        const auto node = node_of(handle);
        *out = work_of<T>(*node).event->handle();
    });
}

template <class T>
CUresult set_event(CUgraphNode node, CUevent event) {
    return set_node<T>(node, [&] { return with_event<T>(event); });
}

template <class T>
CUresult set_exec_event(CUgraphExec exec, CUgraphNode node, CUevent event) {
    return set_exec_node<T>(exec, node, [&] { return with_event<T>(event); });
}

}  // namespace

CUPOLA_API CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
    return locked([&] {
        require(type);
        *type = node_of(node)->type();
    });
}

CUPOLA_API CUresult cuGraphDestroyNode(CUgraphNode handle) {
    return locked([&] {
        const auto node = node_of(handle);
        // A later node of the capture may depend on it, so CUDA forbids removal until the capture
        // ends.
        require(!Capture::into(*node->graph));
        require(!node->graph->has_own_memory(), CUDA_ERROR_NOT_SUPPORTED);
        node->graph->remove(*node);
    });
}

// Kernel nodes.

CUPOLA_API CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph,
                                         const CUgraphNode* before, size_t count,
                                         const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
    return add_node(node, graph, before, count, [&](Graph&) { return kernel_of(parameters); });
}
CUPOLA_API CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph,
                                            const CUgraphNode* before, size_t count,
                                            const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
    return add_node(node, graph, before, count, [&](Graph&) { return kernel_of(parameters); });
}

CUPOLA_API CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* out) {
    return show_kernel(node, out);
}
CUPOLA_API CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node,
                                                  CUDA_KERNEL_NODE_PARAMS_v2* out) {
    return show_kernel(node, out);
}

CUPOLA_API CUresult cuGraphKernelNodeSetParams(CUgraphNode node,
                                               const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
    return set_node<KernelCall>(
        node, [&](const KernelCall* before) { return kernel_of(parameters, before); });
}
CUPOLA_API CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node,
                                                  const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
    return set_node<KernelCall>(
        node, [&](const KernelCall* before) { return kernel_of(parameters, before); });
}

CUPOLA_API CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
    return set_exec_node<KernelCall>(
        exec, node, [&](const KernelCall* before) { return kernel_of(parameters, before); });
}
CUPOLA_API CUresult cuGraphExecKernelNodeSetParams_v2(
    CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
    return set_exec_node<KernelCall>(
        exec, node, [&](const KernelCall* before) { return kernel_of(parameters, before); });
}

// Copy nodes.

CUPOLA_API CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph,
                                         const CUgraphNode* before, size_t count,
                                         const CUDA_MEMCPY3D* parameters, CUcontext context) {
    return add_node(node, graph, before, count, [&](Graph&) {
        context_or_current(context);
        return checked_box(parameters);
    });
}

CUPOLA_API CUresult cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D* out) {
    return locked([&] {
        require(out);
        const auto node = node_of(handle);
        const auto& copy = work_of<Copy>(*node);
        if (copy.given) {
            *out = *copy.given;
            return;
        }
        *out = {};
        struct Place {
            CUmemorytype& type;
            CUdeviceptr& device;
            size_t &pitch, &height;
            CUarray& array;
            size_t &x, &y, &z;
            const void* host;
        };
        Place to{out->dstMemoryType, out->dstDevice, out->dstPitch, out->dstHeight, out->dstArray,
                 out->dstXInBytes,   out->dstY,      out->dstZ,     nullptr};
        Place from{out->srcMemoryType, out->srcDevice, out->srcPitch, out->srcHeight, out->srcArray,
                   out->srcXInBytes,   out->srcY,      out->srcZ,     nullptr};
        show_side<Place&>(copy.destination, to);
        show_side<Place&>(copy.source, from);
        out->dstHost = const_cast<void*>(to.host);
        out->srcHost = from.host;
        out->WidthInBytes = copy.width;
        out->Height = copy.height;
        out->Depth = copy.depth;
    });
}

CUPOLA_API CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* parameters) {
    return set_node<Copy>(node, [&] { return checked_box(parameters); });
}

CUPOLA_API CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_MEMCPY3D* parameters,
                                                   CUcontext context) {
    return set_exec_node<Copy>(exec, node, [&](const Copy* before) {
        context_or_current(context);
        Copy copy = checked_box(parameters);
        for (const Copy* each : {before, const_cast<const Copy*>(&copy)})
            require(each->height == 1 && each->depth == 1);
        return copy;
    });
}

// Fill nodes.

CUPOLA_API CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph,
                                         const CUgraphNode* before, size_t count,
                                         const CUDA_MEMSET_NODE_PARAMS* parameters,
                                         CUcontext context) {
    return add_node(node, graph, before, count, [&](Graph&) {
        context_or_current(context);
        return checked_fill(parameters);
    });
}

CUPOLA_API CUresult cuGraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS* out) {
    return locked([&] {
        require(out);
        const auto node = node_of(handle);
        const auto& fill = work_of<Fill>(*node);
        *out = {};
        out->dst = fill.destination;
        out->pitch = fill.pitch;
        out->value = fill.value;
        out->elementSize = static_cast<unsigned>(fill.element);
        out->width = fill.width;
        out->height = fill.height;
    });
}

CUPOLA_API CUresult cuGraphMemsetNodeSetParams(CUgraphNode node,
                                               const CUDA_MEMSET_NODE_PARAMS* parameters) {
    return set_node<Fill>(node, [&] { return checked_fill(parameters); });
}

CUPOLA_API CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_MEMSET_NODE_PARAMS* parameters,
                                                   CUcontext context) {
    return set_exec_node<Fill>(exec, node, [&] {
        context_or_current(context);
        return checked_fill(parameters);
    });
}

// Host function nodes.

CUPOLA_API CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                       size_t count, const CUDA_HOST_NODE_PARAMS* parameters) {
    return add_node(node, graph, before, count, [&](Graph&) { return checked_host(parameters); });
}

CUPOLA_API CUresult cuGraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS* out) {
    return locked([&] {
        require(out);
        const auto node = node_of(handle);
        const auto& host = work_of<HostCall>(*node);
        *out = {};
        out->fn = host.function;
        out->userData = host.data;
    });
}

CUPOLA_API CUresult cuGraphHostNodeSetParams(CUgraphNode node,
                                             const CUDA_HOST_NODE_PARAMS* parameters) {
    return set_node<HostCall>(node, [&] { return checked_host(parameters); });
}

CUPOLA_API CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                 const CUDA_HOST_NODE_PARAMS* parameters) {
    return set_exec_node<HostCall>(exec, node, [&] { return checked_host(parameters); });
}

// Other nodes.

CUPOLA_API CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph,
                                             const CUgraphNode* before, size_t count,
                                             CUgraph child) {
    return add_node(node, graph, before, count, [&](Graph& to) {
        const auto what = Driver::get().graphs.get(child, CUDA_ERROR_INVALID_VALUE);
        require(!what->holds(to));
        require(!what->has_conditions() && !what->has_memory(), CUDA_ERROR_NOT_SUPPORTED);
        require(!what->is_moved());
        return ChildGraph{what->clone(true)};
    });
}

CUPOLA_API CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph* out) {
    return locked([&] {
        require(out);
        const auto node = node_of(handle);
        *out = work_of<ChildGraph>(*node).graph->handle();
    });
}

CUPOLA_API CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                        size_t count) {
    return add_node(node, graph, before, count, [](Graph&) { return EmptyNode{}; });
}

CUPOLA_API CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph,
                                              const CUgraphNode* before, size_t count,
                                              CUevent event) {
    return add_event<RecordNode>(node, graph, before, count, event);
}
CUPOLA_API CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* out) {
    return get_event<RecordNode>(node, out);
}
CUPOLA_API CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
    return set_event<RecordNode>(node, event);
}
CUPOLA_API CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                                       CUevent event) {
    return set_exec_event<RecordNode>(exec, node, event);
}

CUPOLA_API CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph,
                                            const CUgraphNode* before, size_t count,
                                            CUevent event) {
    return add_event<WaitNode>(node, graph, before, count, event);
}
CUPOLA_API CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* out) {
    return get_event<WaitNode>(node, out);
}
CUPOLA_API CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
    return set_event<WaitNode>(node, event);
}
CUPOLA_API CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                                     CUevent event) {
    return set_exec_event<WaitNode>(exec, node, event);
}
