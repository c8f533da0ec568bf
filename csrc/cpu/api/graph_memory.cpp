// csrc/cpu/api/graph_memory.cpp - cu* entry points: memory nodes of graphs, and user objects.
#include "cpu/device/launch/graph_memory.hpp"

#include <algorithm>

#include "cpu/api/graph.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/stream/user_object.hpp"

using namespace cupola::cpu;

namespace {

AllocateNode allocation_of(CUDA_MEM_ALLOC_NODE_PARAMS* it) {
    require(it && it->bytesize > 0);
    const auto place = PoolPlace::of(Driver::get().devices.size(), it->poolProps.allocType,
                                     it->poolProps.location, true);
    require(place.on_device() || place.managed());
    require(it->poolProps.handleTypes == CU_MEM_HANDLE_TYPE_NONE, CUDA_ERROR_NOT_SUPPORTED);
    require(it->accessDescs || it->accessDescCount == 0);
    AllocateNode made{GraphMemory::make(Driver::get(), place, it->bytesize)};
    it->dptr = made.memory->address();
    return made;
}

std::shared_ptr<UserObject> object_of(CUuserObject handle) {
    return Driver::get().user_objects.get(handle, CUDA_ERROR_INVALID_VALUE);
}

}  // namespace

CUPOLA_API CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph,
                                           const CUgraphNode* before, size_t count,
                                           CUDA_MEM_ALLOC_NODE_PARAMS* parameters) {
    return add_node(node, graph, before, count, [&](Graph& to) {
        require(!to.is_moved(), CUDA_ERROR_NOT_SUPPORTED);
        return allocation_of(parameters);
    });
}

CUPOLA_API CUresult cuGraphMemAllocNodeGetParams(CUgraphNode handle,
                                                 CUDA_MEM_ALLOC_NODE_PARAMS* out) {
    return locked([&] {
        require(out);
        const auto node = node_of(handle);
        const GraphMemory& memory = *work_of<AllocateNode>(*node).memory;
        *out = {};
        out->poolProps.allocType = memory.place().type;
        out->poolProps.location = memory.place().location;
        out->bytesize = memory.size();
        out->dptr = memory.address();
    });
}

CUPOLA_API CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph,
                                          const CUgraphNode* before, size_t count,
                                          CUdeviceptr address) {
    return add_node(node, graph, before, count, [&](Graph& to) {
        require(!to.is_moved(), CUDA_ERROR_NOT_SUPPORTED);
        return FreeNode{GraphMemory::at(Driver::get(), address)};
    });
}

CUPOLA_API CUresult cuGraphMemFreeNodeGetParams(CUgraphNode handle, CUdeviceptr* out) {
    return locked([&] {
        require(out);
        const auto node = node_of(handle);
        *out = work_of<FreeNode>(*node).memory->address();
    });
}

CUPOLA_API CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                                 void* value) {
    return entry([&] {
        Device& of = Driver::get().device(device);
        require(value);
        *static_cast<cuuint64_t*>(value) = GraphMemory::get(of, attribute);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                                 void* value) {
    return entry([&] {
        Device& of = Driver::get().device(device);
        require(value && *static_cast<const cuuint64_t*>(value) == 0);
        GraphMemory::reset_high(of, attribute);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuDeviceGraphMemTrim(CUdevice device) {
    return entry([&] {
        GraphMemory::trim(Driver::get().device(device));
        return CUDA_SUCCESS;
    });
}

// User objects.

CUPOLA_API CUresult cuUserObjectCreate(CUuserObject* out, void* data, CUhostFn destroy,
                                       unsigned int count, unsigned int flags) {
    return entry([&] {
        require(out && destroy && count > 0 && count <= INT32_MAX);
        require(flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
        auto object =
            std::make_shared<UserObject>(Driver::get().user_objects, destroy, data, count);
        *out = object->handle();
        Driver::get().user_objects.add(std::move(object));
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuUserObjectRetain(CUuserObject object, unsigned int count) {
    return entry([&] {
        require(count > 0 && count <= INT32_MAX);
        object_of(object)->retain(count);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuUserObjectRelease(CUuserObject object, unsigned int count) {
    return entry([&] {
        object_of(object)->release(count);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject handle, unsigned int count,
                                            unsigned int flags) {
    return locked([&] {
        const auto to = Driver::get().graphs.get(graph, CUDA_ERROR_INVALID_VALUE);
        const auto object = object_of(handle);
        require(count > 0 && count <= INT32_MAX && (flags & ~CU_GRAPH_USER_OBJECT_MOVE) == 0);
        object->add_graph_references(count, flags & CU_GRAPH_USER_OBJECT_MOVE);
        to->objects.push_back(std::make_shared<UserReferences>(object, count));
    });
}

CUPOLA_API CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject handle,
                                             unsigned int count) {
    return locked([&] {
        auto& objects = Driver::get().graphs.get(graph, CUDA_ERROR_INVALID_VALUE)->objects;
        const auto object = object_of(handle);
        const auto it = std::find_if(objects.begin(), objects.end(), [&](const auto& each) {
            return each->object() == object.get() && each->count() >= count;
        });
        require(it != objects.end());
        if ((*it)->drop(count)) objects.erase(it);
    });
}
