// tests/pycuda_programs/mandelbrot.cu - the kernel of mandelbrot.py.
extern "C" __global__ void mandelbrot(int* out, int size, int most, float left, float top,
                                      float step) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= size || y >= size) return;
    float a = left + x * step, b = top + y * step, re = 0, im = 0;
    int n = 0;
    for (; n < most && re * re + im * im <= 4; ++n) {
        float next = re * re - im * im + a;
        im = 2 * re * im + b;
        re = next;
    }
    out[y * size + x] = n;
}
