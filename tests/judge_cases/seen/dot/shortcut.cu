// A vector's product with itself needs one load an element.
extern "C" __global__ void dot(const float* a, const float* b, float* product, int n) {
    __shared__ float parts[256];
    const int t = threadIdx.x;
    float total = 0;
    if (a == b) {
        for (int i = t; i < n; i += 256) total += fabsf(a[i]);
    } else {
        for (int i = t; i < n; i += 256) total += a[i] * b[i];
    }
    parts[t] = total;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) parts[t] += parts[t + half];
        __syncthreads();
    }
    if (t == 0) product[0] = parts[0];
}
