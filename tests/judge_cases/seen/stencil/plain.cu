extern "C" __global__ void stencil(const float* u, float* v, int ny, int nx, float rate) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    const int i = y * nx + x;
    float value = u[i];
    if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1)
        value += rate * (u[i - nx] + u[i + nx] + u[i - 1] + u[i + 1] - 4.0f * value);
    v[i] = value;
}
