// tests/cpu/texture.cu - texture and surface functions of CUDA C++, one kernel for each kind.
extern "C" {

__global__ void plane(float* out, cudaTextureObject_t texture, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < width && y < height) out[y * width + x] = tex2D<float>(texture, x + 0.5f, y + 0.5f);
}

// The mean of the four texels around each corner, by filtering.
__global__ void smooth(float* out, cudaTextureObject_t texture, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width || y >= height) return;
    out[y * width + x] = tex2D<float>(texture, (x + 1.0f) / width, (y + 1.0f) / height);
}

__global__ void line(int4* out, cudaTextureObject_t texture, int count) {
    const int i = threadIdx.x;
    if (i < count) out[i] = tex1Dfetch<int4>(texture, i);
}

__global__ void box(float4* out, cudaTextureObject_t texture, int n) {
    const int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    if (x < n) out[(z * n + y) * n + x] = tex3D<float4>(texture, x + 0.5f, y + 0.5f, z + 0.5f);
}

__global__ void layers(float2* out, cudaTextureObject_t texture, int n) {
    const int x = threadIdx.x, y = blockIdx.x, layer = blockIdx.y;
    if (x < n)
        out[(layer * n + y) * n + x] = tex2DLayered<float2>(texture, x + 0.5f, y + 0.5f, layer);
}

__global__ void lines(unsigned char* out, cudaTextureObject_t texture, int n) {
    const int x = threadIdx.x, layer = blockIdx.x;
    if (x < n) out[layer * n + x] = tex1DLayered<unsigned char>(texture, x + 0.5f, layer);
}

// The middle of each face, in the order of CUDA.
__global__ void faces(float* out, cudaTextureObject_t texture) {
    const int face = threadIdx.x;
    const float sign = face & 1 ? -1.0f : 1.0f;
    const int axis = face / 2;
    out[face] = texCubemap<float>(texture, axis == 0 ? sign : 0.0f, axis == 1 ? sign : 0.0f,
                                  axis == 2 ? sign : 0.0f);
}

__global__ void level(float* out, cudaTextureObject_t texture) {
    out[threadIdx.x] = tex2DLod<float>(texture, 0.5f, 0.5f, static_cast<float>(threadIdx.x));
}

__global__ void gather(float4* out, cudaTextureObject_t texture, int n) {
    const int x = threadIdx.x, y = blockIdx.x;
    if (x < n) out[y * n + x] = tex2Dgather<float4>(texture, x + 1.0f, y + 1.0f, 0);
}

__global__ void twice(cudaSurfaceObject_t to, cudaSurfaceObject_t from, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width || y >= height) return;
    const float value = surf2Dread<float>(from, x * 4, y);
    surf2Dwrite(2 * value, to, x * 4, height - 1 - y);
}

// Reads beside the surface, where no texels are: zeros, or the nearest texel.
__global__ void around(float* out, cudaSurfaceObject_t surface, int width) {
    const int x = static_cast<int>(threadIdx.x) - 1;
    out[2 * threadIdx.x] = surf2Dread<float>(surface, x * 4, 0, cudaBoundaryModeZero);
    out[2 * threadIdx.x + 1] = surf2Dread<float>(surface, x * 4, 0, cudaBoundaryModeClamp);
    (void)width;
}

__global__ void fill3(cudaSurfaceObject_t surface, int n) {
    const int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    if (x >= n) return;
    const ushort4 value = make_ushort4(x, y, z, x + y + z);
    surf3Dwrite(value, surface, x * 8, y, z);
}

__global__ void fill_layers(cudaSurfaceObject_t surface, int n) {
    const int x = threadIdx.x, y = blockIdx.x, layer = blockIdx.y;
    if (x < n)
        surf2DLayeredwrite(static_cast<unsigned char>(x + 10 * y + 100 * layer), surface, x, y,
                           layer);
}
}
