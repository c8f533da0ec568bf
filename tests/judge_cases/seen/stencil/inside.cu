extern "C" __global__ void stencil(const float* u, float* v, int ny, int nx, float rate) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || x >= nx - 1 || y < 1 || y >= ny - 1) return;
    const int i = y * nx + x;
    v[i] = u[i] + rate * (u[i - nx] + u[i + nx] + u[i - 1] + u[i + 1] - 4.0f * u[i]);
}
