// tests/cudart/cuda/pools.cu - allocation in the order of streams, from the device's pool and from
// the program's own.
#include <cstdint>
#include <vector>

#include "check.cuh"

__global__ void add(int* values, int by, int count) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < count) values[n] += by;
}

static const int count = 1000;

// Memory from `allocate`, used and freed in the order of the stream.
template <class Allocate>
static void use(cudaStream_t stream, Allocate allocate) {
    int* values = nullptr;
    int* found = nullptr;
    CUDA(cudaMallocHost(&found, count * sizeof(int)));
    CUDA(allocate(&values));
    CUDA(cudaMemsetAsync(values, 0, count * sizeof(int), stream));
    add<<<(count + 255) / 256, 256, 0, stream>>>(values, 5, count);
    add<<<(count + 255) / 256, 256, 0, stream>>>(values, 7, count);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpyAsync(found, values, count * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CUDA(cudaFreeAsync(values, stream));
    CUDA(cudaStreamSynchronize(stream));
    for (int n = 0; n < count; ++n) CHECK(found[n] == 12);
    CUDA(cudaFreeHost(found));
}

static std::uint64_t attribute(cudaMemPool_t pool, cudaMemPoolAttr which) {
    std::uint64_t value = 0;
    CUDA(cudaMemPoolGetAttribute(pool, which, &value));
    return value;
}

int main() {
    int device = 0, supported = 0;
    CUDA(cudaGetDevice(&device));
    CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device));
    CHECK(supported == 1);

    cudaMemPoolProps props{};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = device;
    cudaMemPool_t pool = nullptr, original = nullptr, current = nullptr;
    CUDA(cudaMemPoolCreate(&pool, &props));
    std::uint64_t threshold = UINT64_MAX;
    CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    CHECK(attribute(pool, cudaMemPoolAttrReleaseThreshold) == threshold);

    cudaStream_t own = nullptr;
    CUDA(cudaStreamCreate(&own));
    const size_t bytes = count * sizeof(int);
    for (cudaStream_t stream : {own, cudaStream_t{nullptr}, cudaStreamPerThread}) {
        use(stream, [&](int** made) { return cudaMallocAsync(made, bytes, stream); });
        use(stream, [&](int** made) { return cudaMallocFromPoolAsync(made, bytes, pool, stream); });
        // The C++ overload of cudaMallocAsync.
        use(stream, [&](int** made) { return cudaMallocAsync(made, bytes, pool, stream); });
    }

    CUDA(cudaDeviceGetMemPool(&original, device));
    CUDA(cudaDeviceSetMemPool(device, pool));
    CUDA(cudaDeviceGetMemPool(&current, device));
    CHECK(current == pool);
    int* values = nullptr;
    CUDA(cudaMallocAsync(&values, bytes, own));
    CHECK(attribute(pool, cudaMemPoolAttrUsedMemCurrent) >= bytes);
    CHECK(attribute(pool, cudaMemPoolAttrReservedMemCurrent) >= bytes);
    CUDA(cudaFreeAsync(values, own));
    CUDA(cudaStreamSynchronize(own));
    CHECK(attribute(pool, cudaMemPoolAttrUsedMemCurrent) == 0);
    CUDA(cudaMemPoolTrimTo(pool, 0));
    CHECK(attribute(pool, cudaMemPoolAttrReservedMemCurrent) == 0);
    CUDA(cudaDeviceSetMemPool(device, original));

    cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
    cudaMemLocation here = props.location;
    CUDA(cudaMemPoolGetAccess(&flags, pool, &here));
    CHECK(flags == cudaMemAccessFlagsProtReadWrite);
    CUDA(cudaMemPoolDestroy(pool));
    CUDA(cudaStreamDestroy(own));
    std::puts("ok");
}
