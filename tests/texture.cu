// tests/texture.cu - kernels that read textures and write surfaces, for tests/test_texture.py.
extern "C" {

__global__ void plane(float* out, cudaTextureObject_t image, int width, int height) {
    const int x = threadIdx.x, y = blockIdx.x;
    if (x < width && y < height) out[y * width + x] = tex2D<float>(image, x + 0.5f, y + 0.5f);
}

// At coordinates of 0 to 1, a quarter of a texel beside the middle.
__global__ void beside(float* out, cudaTextureObject_t line, int width) {
    const int x = threadIdx.x;
    if (x < width) out[x] = tex1D<float>(line, (x + 0.75f) / width);
}

__global__ void outside(float* out, cudaTextureObject_t line, int width) {
    const int x = static_cast<int>(threadIdx.x) - width;
    if (x < 2 * width) out[threadIdx.x] = tex1D<float>(line, (x + 0.5f) / width);
}

__global__ void fetch(float4* out, cudaTextureObject_t texels, int count) {
    if (threadIdx.x < count) out[threadIdx.x] = tex1Dfetch<float4>(texels, threadIdx.x);
}

__global__ void integers(int* out, cudaTextureObject_t line, int width) {
    if (threadIdx.x < width) out[threadIdx.x] = tex1D<int>(line, threadIdx.x + 0.5f);
}

__global__ void box(short2* out, cudaTextureObject_t volume, int n) {
    const int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    out[(z * n + y) * n + x] = tex3D<short2>(volume, x + 0.5f, y + 0.5f, z + 0.5f);
}

__global__ void layers(float* out, cudaTextureObject_t image, int n) {
    const int x = threadIdx.x, y = blockIdx.x, layer = blockIdx.y;
    out[(layer * n + y) * n + x] = tex2DLayered<float>(image, x + 0.5f, y + 0.5f, layer);
}

__global__ void twice(cudaSurfaceObject_t image) {
    const int x = threadIdx.x, y = blockIdx.x;
    surf2Dwrite(2 * surf2Dread<float>(image, x * 4, y), image, x * 4, y);
}
}
