// csrc/kernels/orbit.cuh - the orbit of 0 under z -> z^2 + c, for the Mandelbrot kernels.
#pragma once

namespace {

constexpr int group = 8;  // steps between two comparisons with the bound

// Each operation is rounded separately, in this order, so that a GPU, the CPU device and NumPy's
// float32 give the same bits. Contraction to fma would change them.
struct Orbit {
    float real = 0, imag = 0, real2 = 0, imag2 = 0;

    __device__ void set(float r, float i) {
        real = r;
        imag = i;
        real2 = __fmul_rn(r, r);
        imag2 = __fmul_rn(i, i);
    }

    __device__ float norm() const { return __fadd_rn(real2, imag2); }

    __device__ void step(float c_real, float c_imag) {
        const float i = __fadd_rn(__fmul_rn(__fadd_rn(real, real), imag), c_imag);
        set(__fadd_rn(__fsub_rn(real2, imag2), c_real), i);
    }

    // Computes the same bits with one operation less: twice a rounded product is exact, so the fma
    // rounds like the sum. This fails if the product is subnormal beside a tiny c_imag, or if 2
    // real overflows; `usual_row` excludes both.
    __device__ void quick_step(float c_real, float c_imag) {
        const float i = __fmaf_rn(2, __fmul_rn(real, imag), c_imag);
        set(__fadd_rn(__fsub_rn(real2, imag2), c_real), i);
    }
};

// Whether c is inside the main cardioid or the disk of period 2 with a margin. The cardioid is
// shrunk towards 0 by 1 + 2^-8, the disk towards -1 by 1 - 2^-8. Let w be the multiplier of the
// fixed point. On a ray from 0, d log w / d log c = 1/2 + 1 / 2(1 - w), and its real part is at
// least 3/4. So |w| < 1 - 2^-9 in the shrunk cardioid. In the shrunk disk the cycle's |w| = 4 |c +
// 1| < 1 - 2^-8. The roundings of this test move c by at most 2^-22, thousands of times less than
// the margin.
//
// Proved for these c: the orbit's |z|^2 is below 3, and the orbit converges to an attracting point.
// That is the fixed point in the cardioid, and a point of the cycle with |z| <= 1/2, by two steps,
// in the disk. The step maps the disk of radius (1 - |w|) / 2C around that point into itself,
// because it maps r to at most |w| r + C r^2; C is 1, or 3.5 for two steps. This holds even if each
// step adds (1 - |w|)^2 / 4C, which is 2^-20. Float roundings add at most 2^-21, so an orbit in the
// disk stays.
//
// Not proved but tested, up to 2^-20 from the border: no orbit leaves before it reaches that disk.
// A rounding on the way has at most the effect of an equal move of c, and the margin is thousands
// of roundings.
__device__ bool known(float c_real, float c_imag) {
    constexpr float grown = 1 + 0x1p-8f, disk = 0.25f * (1 - 0x1p-8f);
    const float imag = grown * c_imag, x = grown * c_real - 0.25f;
    const float imag2 = imag * imag, q = x * x + imag2;
    const float y = c_real + 1;
    return q * (q + x) < 0.25f * imag2 || y * y + c_imag * c_imag < disk * disk;
}

}  // namespace
