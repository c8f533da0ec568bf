// examples/ptx_by_hand/mandelbrot.cu - the plainest Mandelbrot kernel: a thread for each point.
// mandelbrot.ptx was made of it, for every GPU since Turing and any driver of CUDA 13, by
//   nvcc -ptx -arch=compute_75 --fmad=false mandelbrot.cu

// graph[row * n + column] = 1 where the orbit of c stays within the bound. Without extern "C" the
// name in the PTX would be _Z10mandelbrotPKfPfifi.
extern "C" __global__ void mandelbrot(const float* lattice, float* graph, int iterations,
                                      float bound_squared, int n) {
    const int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= n * n) return;
    const float c_real = lattice[point % n], c_imag = lattice[n - 1 - point / n];
    float real = 0, imag = 0, inside = 1;
    for (int i = 0; i < iterations && inside; ++i) {
        const float next = real * real - imag * imag + c_real;
        imag = (real + real) * imag + c_imag;
        real = next;
        if (!(real * real + imag * imag <= bound_squared)) inside = 0;
    }
    graph[point] = inside;
}
