// tests/cudart/cuda/memory.cu - rows, boxes and arrays, and the program's own variables.
#include <vector>

#include "check.cuh"

__device__ int counter = 3;
__device__ float table[64];
__constant__ float factors[4] = {1, 2, 3, 4};
__managed__ int shared_total = 5;
__managed__ float shared_table[16];

__global__ void scale(float* rows, size_t pitch, int width, int height) {
    const int x = threadIdx.x, y = blockIdx.x;
    if (x < width && y < height)
        reinterpret_cast<float*>(reinterpret_cast<char*>(rows) + y * pitch)[x] *= factors[y % 4];
}

__global__ void use_variables(int by) {
    const int n = threadIdx.x;
    table[n] += by;
    if (n < 16) shared_table[n] = static_cast<float>(n) * factors[1];
    atomicAdd(&counter, 1);
    if (n == 0) shared_total += by;
}

static void test_rows() {
    const int width = 100, height = 7;
    std::vector<float> values(width * height), found(values.size());
    for (size_t n = 0; n < values.size(); ++n) values[n] = static_cast<float>(n);
    float* rows = nullptr;
    size_t pitch = 0;
    CUDA(cudaMallocPitch(&rows, &pitch, width * sizeof(float), height));
    CHECK(pitch >= width * sizeof(float) && pitch % 32 == 0);
    CUDA(cudaMemset2D(rows, pitch, 0xff, pitch, height));
    const size_t bytes = width * sizeof(float);
    CUDA(cudaMemcpy2D(rows, pitch, values.data(), bytes, bytes, height, cudaMemcpyHostToDevice));
    scale<<<height, 128>>>(rows, pitch, width, height);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy2D(found.data(), bytes, rows, pitch, bytes, height, cudaMemcpyDefault));
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            CHECK(found[y * width + x] == values[y * width + x] * (y % 4 + 1));
    CHECK(cudaMemcpy2D(rows, 8, values.data(), 16, 16, 2, cudaMemcpyHostToDevice) ==
          cudaErrorInvalidPitchValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidPitchValue);
    CUDA(cudaGetLastError());
    CUDA(cudaFree(rows));
}

// A part of a box, from the host to an array, to pitched memory, and back.
static void test_boxes() {
    const cudaExtent whole = make_cudaExtent(12, 6, 5), part = make_cudaExtent(7, 4, 3);
    std::vector<int> values(12 * 6 * 5), found(values.size(), -1);
    for (size_t n = 0; n < values.size(); ++n) values[n] = static_cast<int>(n);
    const cudaChannelFormatDesc channel = cudaCreateChannelDesc<int>();
    cudaArray_t array = nullptr;
    CUDA(cudaMalloc3DArray(&array, &channel, whole));
    cudaPitchedPtr pitched{};
    CUDA(cudaMalloc3D(&pitched, make_cudaExtent(12 * sizeof(int), 6, 5)));
    CUDA(cudaMemset3D(pitched, 0, make_cudaExtent(12 * sizeof(int), 6, 5)));
    const cudaPitchedPtr host = make_cudaPitchedPtr(values.data(), 12 * sizeof(int), 12, 6);

    cudaMemcpy3DParms copy{};
    copy.srcPtr = host;
    copy.srcPos = make_cudaPos(2, 1, 1);  // elements of the array, also in memory
    copy.dstArray = array;
    copy.dstPos = make_cudaPos(3, 2, 1);
    copy.extent = part;
    copy.kind = cudaMemcpyHostToDevice;
    CUDA(cudaMemcpy3D(&copy));

    cudaMemcpy3DParms out{};
    out.srcArray = array;
    out.srcPos = make_cudaPos(3, 2, 1);
    out.dstPtr = pitched;
    out.dstPos = make_cudaPos(1, 0, 2);
    out.extent = part;
    out.kind = cudaMemcpyDeviceToDevice;
    CUDA(cudaMemcpy3DAsync(&out));

    cudaMemcpy3DParms back{};
    back.srcPtr = pitched;
    back.dstPtr = make_cudaPitchedPtr(found.data(), 12 * sizeof(int), 12, 6);
    back.extent = make_cudaExtent(12 * sizeof(int), 6, 5);
    back.kind = cudaMemcpyDeviceToHost;
    CUDA(cudaMemcpy3D(&back));
    for (int z = 0; z < 5; ++z)
        for (int y = 0; y < 6; ++y)
            for (int x = 0; x < 12; ++x) {
                const bool inside = x >= 1 && x < 8 && y < 4 && z >= 2;
                const int expected =
                    inside ? values[((z - 2 + 1) * 6 + y + 1) * 12 + x - 1 + 2] : 0;
                CHECK(found[(z * 6 + y) * 12 + x] == expected);
            }
    CUDA(cudaFree(pitched.ptr));
    CUDA(cudaFreeArray(array));
}

static void test_variables() {
    float values[64], found[64];
    for (int n = 0; n < 64; ++n) values[n] = static_cast<float>(n);
    CUDA(cudaMemcpyToSymbol(table, values, sizeof values));
    const float other[] = {10, 20};
    CUDA(cudaMemcpyToSymbol(factors, other, sizeof other, sizeof(float)));
    CHECK(shared_total == 5);
    shared_total = 50;
    use_variables<<<1, 64>>>(7);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpyFromSymbol(found, table, sizeof found));
    for (int n = 0; n < 64; ++n) CHECK(found[n] == values[n] + 7);
    CHECK(shared_total == 57);
    CHECK(shared_table[15] == 150);
    int count = 0;
    CUDA(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    CHECK(count == 67);

    int* address = nullptr;
    CUDA(cudaGetSymbolAddress(reinterpret_cast<void**>(&address), counter));
    count = 100;
    CUDA(cudaMemcpy(address, &count, sizeof count, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    CHECK(count == 100);
    size_t bytes = 0;
    CUDA(cudaGetSymbolSize(&bytes, table));
    CHECK(bytes == sizeof table);
    CUDA(cudaGetSymbolSize(&bytes, shared_table));
    CHECK(bytes == sizeof shared_table);
    const float more[] = {1, 2};
    CUDA(cudaMemcpyToSymbol(shared_table, more, sizeof more, 2 * sizeof(float)));
    CUDA(cudaMemcpy(found, shared_table, sizeof shared_table, cudaMemcpyDefault));
    CHECK(found[2] == 1 && found[3] == 2 && found[4] == 40);
    CHECK(cudaMemcpyToSymbol(table, values, sizeof values, 4) == cudaErrorInvalidValue);
    CHECK(cudaGetSymbolSize(&bytes, values) == cudaErrorInvalidSymbol);
    CHECK(cudaGetLastError() == cudaErrorInvalidSymbol);
}

static void test_managed() {
    float* values = nullptr;
    CUDA(cudaMallocManaged(&values, 4 * 32 * sizeof(float)));
    for (int n = 0; n < 4 * 32; ++n) values[n] = 1;
    scale<<<4, 32>>>(values, 32 * sizeof(float), 32, 4);
    CUDA(cudaDeviceSynchronize());
    CHECK(values[0] == 1 && values[32] == 10 && values[64] == 20 && values[96] == 4);
    cudaPointerAttributes attributes{};
    CUDA(cudaPointerGetAttributes(&attributes, values));
    CHECK(attributes.type == cudaMemoryTypeManaged && attributes.devicePointer == values);
    CUDA(cudaFree(values));
}

int main() {
    test_rows();
    test_boxes();
    test_variables();
    test_managed();
    std::puts("ok");
}
