// tests/cudart/cuda/texture.cu - textures of every kind of resource, and surface writes.
#include <cmath>
#include <vector>

#include "check.cuh"

__global__ void fetch(float* out, cudaTextureObject_t from, int count) {
    const int n = threadIdx.x;
    if (n < count) out[n] = tex1Dfetch<float>(from, n);
}

__global__ void read_line(float* out, cudaTextureObject_t from, float first) {
    out[threadIdx.x] = tex1D<float>(from, first + static_cast<float>(threadIdx.x));
}

__global__ void read_plane(float* out, cudaTextureObject_t from, float x, float y) {
    const int width = blockDim.x;
    out[blockIdx.x * width + threadIdx.x] =
        tex2D<float>(from, static_cast<float>(threadIdx.x) + x, static_cast<float>(blockIdx.x) + y);
}

__global__ void read_box(float* out, cudaTextureObject_t from) {
    const unsigned x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
    out[(z * blockDim.y + y) * blockDim.x + x] = tex3D<float>(from, x + 0.5f, y + 0.5f, z + 0.5f);
}

__global__ void read_layer(float* out, cudaTextureObject_t from) {
    const unsigned x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
    out[(z * blockDim.y + y) * blockDim.x + x] = tex2DLayered<float>(from, x + 0.5f, y + 0.5f, z);
}

__global__ void read_level(float* out, cudaTextureObject_t from, float level) {
    out[threadIdx.x] = tex2DLod<float>(from, (threadIdx.x + 0.5f) / blockDim.x, 0.5f, level);
}

__global__ void read_normalized(float4* out, cudaTextureObject_t from) {
    out[threadIdx.x] = tex1Dfetch<float4>(from, threadIdx.x);
}

__global__ void write_plane(cudaSurfaceObject_t to, int add) {
    const int x = threadIdx.x, y = blockIdx.x;
    surf2Dwrite(static_cast<float>(10 * y + x + add), to, x * static_cast<int>(sizeof(float)), y);
}

__global__ void double_plane(cudaSurfaceObject_t of) {
    const int x = threadIdx.x * static_cast<int>(sizeof(float)), y = blockIdx.x;
    surf2Dwrite(2 * surf2Dread<float>(of, x, y), of, x, y);
}

static float* output = nullptr;

static std::vector<float> results(size_t count) {
    CUDA(cudaGetLastError());
    std::vector<float> found(count);
    CUDA(cudaMemcpy(found.data(), output, count * sizeof(float), cudaMemcpyDeviceToHost));
    return found;
}

static std::vector<float> numbers(size_t count) {
    std::vector<float> made(count);
    for (size_t n = 0; n < count; ++n) made[n] = static_cast<float>(n);
    return made;
}

static cudaTextureDesc describe(cudaTextureFilterMode filter = cudaFilterModePoint) {
    cudaTextureDesc made{};
    for (auto& mode : made.addressMode) mode = cudaAddressModeClamp;
    made.filterMode = filter;
    made.readMode = cudaReadModeElementType;
    return made;
}

static cudaTextureObject_t texture_of(const cudaResourceDesc& resource,
                                      const cudaTextureDesc& texture) {
    cudaTextureObject_t made = 0;
    CUDA(cudaCreateTextureObject(&made, &resource, &texture, nullptr));
    return made;
}

static cudaResourceDesc resource_of(cudaArray_t array) {
    cudaResourceDesc made{};
    made.resType = cudaResourceTypeArray;
    made.res.array.array = array;
    return made;
}

static void test_linear() {
    const auto values = numbers(64);
    float* memory = nullptr;
    CUDA(cudaMalloc(&memory, 64 * sizeof(float)));
    CUDA(cudaMemcpy(memory, values.data(), 64 * sizeof(float), cudaMemcpyHostToDevice));
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = 64 * sizeof(float);
    const auto texture = texture_of(resource, describe());
    fetch<<<1, 64>>>(output, texture, 64);
    CHECK(results(64) == values);
    cudaResourceDesc found{};
    CUDA(cudaGetTextureObjectResourceDesc(&found, texture));
    CHECK(found.resType == cudaResourceTypeLinear && found.res.linear.devPtr == memory);
    CHECK(found.res.linear.desc.x == 32 && found.res.linear.desc.f == cudaChannelFormatKindFloat);
    CUDA(cudaDestroyTextureObject(texture));

    // Bytes as fractions of 255.
    resource.res.linear.desc = cudaCreateChannelDesc<uchar4>();
    auto fractions = describe();
    fractions.readMode = cudaReadModeNormalizedFloat;
    const unsigned char bytes[] = {0, 51, 102, 255};
    CUDA(cudaMemcpy(memory, bytes, 4, cudaMemcpyHostToDevice));
    const auto normalized = texture_of(resource, fractions);
    read_normalized<<<1, 1>>>(reinterpret_cast<float4*>(output), normalized);
    const auto read = results(4);
    CHECK(read[0] == 0 && std::fabs(read[1] - 0.2f) < 1e-6f && read[3] == 1);
    CUDA(cudaDestroyTextureObject(normalized));

    // Rows of 16 elements.
    CUDA(cudaMemcpy(memory, values.data(), 64 * sizeof(float), cudaMemcpyHostToDevice));
    float* rows = nullptr;
    size_t pitch = 0;
    CUDA(cudaMallocPitch(&rows, &pitch, 16 * sizeof(float), 4));
    CUDA(cudaMemcpy2D(rows, pitch, memory, 16 * sizeof(float), 16 * sizeof(float), 4,
                      cudaMemcpyDeviceToDevice));
    resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = rows;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    resource.res.pitch2D.width = 16;
    resource.res.pitch2D.height = 4;
    resource.res.pitch2D.pitchInBytes = pitch;
    const auto pitched = texture_of(resource, describe());
    read_plane<<<4, 16>>>(output, pitched, 0.5f, 0.5f);
    CHECK(results(64) == values);
    CUDA(cudaDestroyTextureObject(pitched));
    CUDA(cudaFree(rows));
    CUDA(cudaFree(memory));
}

static void test_arrays() {
    const auto channel = cudaCreateChannelDesc<float>();
    const auto values = numbers(16 * 4);
    cudaArray_t line = nullptr, plane = nullptr;
    CUDA(cudaMallocArray(&line, &channel, 16));
    CUDA(cudaMemcpy2DToArray(line, 0, 0, values.data(), 64, 64, 1, cudaMemcpyHostToDevice));
    auto smooth = describe(cudaFilterModeLinear);
    auto texture = texture_of(resource_of(line), smooth);
    read_line<<<1, 15>>>(output, texture, 1.0f);
    auto found = results(15);
    for (int n = 0; n < 15; ++n) CHECK(found[n] == n + 0.5f);
    CUDA(cudaDestroyTextureObject(texture));

    CUDA(cudaMallocArray(&plane, &channel, 16, 4));
    CUDA(cudaMemcpy2DToArray(plane, 0, 0, values.data(), 64, 64, 4, cudaMemcpyHostToDevice));
    auto border = describe();
    border.addressMode[0] = border.addressMode[1] = cudaAddressModeBorder;
    border.borderColor[0] = -7;
    texture = texture_of(resource_of(plane), border);
    read_plane<<<4, 16>>>(output, texture, -0.5f, 0.5f);
    found = results(64);
    CHECK(found[0] == -7 && found[1] == 0 && found[16] == -7 && found[17] == 16);
    cudaTextureDesc back{};
    CUDA(cudaGetTextureObjectTextureDesc(&back, texture));
    CHECK(back.addressMode[0] == cudaAddressModeBorder && back.borderColor[0] == -7);
    CUDA(cudaDestroyTextureObject(texture));

    cudaExtent extent{};
    cudaChannelFormatDesc described{};
    unsigned flags = 99;
    CUDA(cudaArrayGetInfo(&described, &extent, &flags, plane));
    CHECK(extent.width == 16 && extent.height == 4 && flags == 0 && described.x == 32);
    CUDA(cudaFreeArray(line));
    CUDA(cudaFreeArray(plane));
}

// A box and layers differ in the third coordinate.
static void test_depth(unsigned flags) {
    const auto channel = cudaCreateChannelDesc<float>();
    auto values = numbers(8 * 4 * 3);
    cudaArray_t array = nullptr;
    CUDA(cudaMalloc3DArray(&array, &channel, make_cudaExtent(8, 4, 3), flags));
    cudaMemcpy3DParms copy{};
    copy.srcPtr = make_cudaPitchedPtr(values.data(), 8 * sizeof(float), 8, 4);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(8, 4, 3);
    copy.kind = cudaMemcpyHostToDevice;
    CUDA(cudaMemcpy3D(&copy));
    const auto texture = texture_of(resource_of(array), describe());
    if (flags & cudaArrayLayered)
        read_layer<<<3, dim3(8, 4)>>>(output, texture);
    else
        read_box<<<3, dim3(8, 4)>>>(output, texture);
    CHECK(results(values.size()) == values);
    CUDA(cudaDestroyTextureObject(texture));
    CUDA(cudaFreeArray(array));
}

static void test_levels() {
    const auto channel = cudaCreateChannelDesc<float>();
    cudaMipmappedArray_t mipmap = nullptr;
    CUDA(cudaMallocMipmappedArray(&mipmap, &channel, make_cudaExtent(16, 16, 0), 3));
    for (unsigned level = 0; level < 3; ++level) {
        cudaArray_t array = nullptr;
        CUDA(cudaGetMipmappedArrayLevel(&array, mipmap, level));
        const size_t size = 16 >> level;
        const std::vector<float> values(size * size, 100.0f * static_cast<float>(level + 1));
        CUDA(cudaMemcpy2DToArray(array, 0, 0, values.data(), size * sizeof(float),
                                 size * sizeof(float), size, cudaMemcpyHostToDevice));
    }
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = mipmap;
    auto how = describe(cudaFilterModeLinear);
    how.normalizedCoords = 1;
    how.mipmapFilterMode = cudaFilterModeLinear;
    how.maxMipmapLevelClamp = 2;
    const auto texture = texture_of(resource, how);
    for (const float level : {0.0f, 1.0f, 1.5f, 2.0f, 5.0f}) {
        read_level<<<1, 8>>>(output, texture, level);
        const auto found = results(8);
        const float expected = 100 * (std::fmin(level, 2.0f) + 1);
        for (const float value : found) CHECK(value == expected);
    }
    CUDA(cudaDestroyTextureObject(texture));
    CUDA(cudaFreeMipmappedArray(mipmap));
}

static void test_surfaces() {
    const auto channel = cudaCreateChannelDesc<float>();
    cudaArray_t array = nullptr;
    CUDA(cudaMallocArray(&array, &channel, 8, 4, cudaArraySurfaceLoadStore));
    const cudaResourceDesc resource = resource_of(array);
    cudaSurfaceObject_t surface = 0;
    CUDA(cudaCreateSurfaceObject(&surface, &resource));
    write_plane<<<4, 8>>>(surface, 1);
    double_plane<<<4, 8>>>(surface);
    CUDA(cudaGetLastError());
    float found[4][8];
    CUDA(cudaMemcpy2DFromArray(found, 32, array, 0, 0, 32, 4, cudaMemcpyDeviceToHost));
    for (int y = 0; y < 4; ++y)
        for (int x = 0; x < 8; ++x) CHECK(found[y][x] == 2 * (10 * y + x + 1));
    cudaResourceDesc back{};
    CUDA(cudaGetSurfaceObjectResourceDesc(&back, surface));
    CHECK(back.resType == cudaResourceTypeArray && back.res.array.array == array);
    CUDA(cudaDestroySurfaceObject(surface));
    CUDA(cudaFreeArray(array));
}

int main() {
    CUDA(cudaMalloc(&output, 1024 * sizeof(float)));
    test_linear();
    test_arrays();
    test_depth(cudaArrayDefault);
    test_depth(cudaArrayLayered);
    test_levels();
    test_surfaces();
    CUDA(cudaFree(output));
    std::puts("ok");
}
