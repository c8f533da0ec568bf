// csrc/kernels/mandelbrot.cu - finds the points of a lattice that stay bounded under z -> z^2 + c.
#include "threads.cuh"

namespace {

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

    // The same bits with one operation less: twice a rounded product is exact, so the fma rounds
    // like the sum. This fails if the product is subnormal beside a tiny c_imag, or if 2 real
    // overflows; `usual_row` excludes both.
    __device__ void quick_step(float c_real, float c_imag) {
        const float i = __fmaf_rn(2, __fmul_rn(real, imag), c_imag);
        set(__fadd_rn(__fsub_rn(real2, imag2), c_real), i);
    }
};

constexpr int group = 8;  // steps between two tests of the bound

// Whether |z|^2 <= bound for each of `iterations` values of z after the first, which is 0; for any
// point and bound. An orbit may leave a bound below 4 and return, so every value is compared, but
// only one step in eight branches. An orbit with a NaN does not stay within any bound.
__device__ bool stays(float c_real, float c_imag, int iterations, float bound) {
    Orbit z;
    int left = iterations;
    for (; left >= group; left -= group) {
        bool within = true;
#pragma unroll
        for (int i = 0; i < group; ++i) {
            z.step(c_real, c_imag);
            within &= z.norm() <= bound;
        }
        if (!within) return false;
    }
#pragma unroll 1
    for (; left > 0; --left) {
        z.step(c_real, c_imag);
        if (!(z.norm() <= bound)) return false;
    }
    return true;
}

constexpr int first = 3;  // steps from z = c to the first test, for usual points

// Rows whose points need a test only now and then. Let |c| < 2 - 2^-10 and bound >= 4. If |z|^2 >
// bound, the next |z| is larger by more than all roundings, because |z^2 + c| >= |z|^2 - |c|. So an
// orbit that left the bound is outside at each later test. After an overflow it stays infinite or
// NaN.
__device__ bool usual_row(float c_imag, int iterations, float bound) {
    return iterations >= 1 + first + group && bound >= 4 && bound < INFINITY &&
           (fabsf(c_imag) >= 0x1p-90f || c_imag == 0);
}
constexpr float usual_norm = 3.996f;

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

// A shortcut finds orbits that never leave. This one finds none, so each orbit is followed to its
// end. benchmarks/kernels.cu has another one, which examines the orbit.
struct Follow {
    static __device__ bool known(float, float) { return false; }
    static __device__ bool trapped(const Orbit&, float, const Orbit&) { return false; }
};
// A shortcut by the position of c. Other orbits that stay have a longer period and are rare.
struct Interior : Follow {
    static __device__ bool known(float c_real, float c_imag) { return ::known(c_real, c_imag); }
};

// `stays` for usual points. Most orbits that leave do so within 4 or 12 steps. A warp is done when
// each of its orbits has left or is known to stay.
template <class Shortcut>
__device__ bool usually_stays(float c_real, float c_imag, int iterations, float bound) {
    Orbit z;
    z.set(c_real, c_imag);
#pragma unroll
    for (int i = 0; i < first; ++i) z.quick_step(c_real, c_imag);
    if (!(z.norm() <= bound)) return false;
    if (Shortcut::known(c_real, c_imag)) return true;
    int left = iterations - 1 - first;
    bool look = true;
    do {
#pragma unroll
        for (int i = 0; i < group - 2; ++i) z.quick_step(c_real, c_imag);
        const Orbit before = z;
        z.quick_step(c_real, c_imag);
        const float between = z.norm();
        z.quick_step(c_real, c_imag);
        if (!(z.norm() <= bound)) return false;
        if (look && Shortcut::trapped(before, between, z)) return true;
        look = !look;
        left -= group;
    } while (left >= group);
#pragma unroll 1
    for (; left > 0; --left) z.quick_step(c_real, c_imag);
    return z.norm() <= bound;
}

// A warp has 8 x 4 points at a time, because neighbours need about the same number of steps. It
// computes 4 such tiles side by side, and up to 8 rows of them if there are few threads.
template <class Shortcut>
__device__ void picture(const float* lattice, float* graph, int iterations, float bound,
                        int lattice_size) {
    if (lattice_size <= 0) return;
    const auto n = static_cast<unsigned>(lattice_size);
    const Ranks ranks = launch_ranks();
    const std::size_t across = (n + 31) / 32, strips = across * ((n + 3) / 4) * 32;
    const std::size_t share = (strips + ranks.stride - 1) / ranks.stride;
    const unsigned depth = share > 8 ? 8 : static_cast<unsigned>(share);
    const std::size_t items = across * ((n + 4 * depth - 1) / (4 * depth)) * 32;
    for (std::size_t item = ranks.first; item < items; item += ranks.stride) {
        const std::size_t piece = item / 32, lane = item % 32;
        const std::size_t below = piece / across;
        const auto left = static_cast<unsigned>((piece - below * across) * 32 + lane % 8);
        auto row = static_cast<unsigned>(below * 4 * depth + lane / 8);
        for (unsigned d = 0; d < depth && row < n; ++d, row += 4) {
            const float c_imag = lattice[n - 1 - row];
            const float imag2 = __fmul_rn(c_imag, c_imag);
            const bool usual = usual_row(c_imag, iterations, bound);
            float* out = graph + std::size_t{row} * n;
#pragma unroll 1
            for (unsigned column = left; column < n && column < left + 32; column += 8) {
                const float c_real = lattice[column];
                const float norm = __fadd_rn(__fmul_rn(c_real, c_real), imag2);
                // Hides that `iterations` is uniform: otherwise the compiler duplicates the code
                // below for small and large counts.
                int steps = iterations;
                asm volatile("" : "+r"(steps));
                bool in;
                if (usual && norm <= usual_norm)
                    in = usually_stays<Shortcut>(c_real, c_imag, steps, bound);
                else if (steps > 0 && !(norm <= bound))
                    in = false;  // the first value is c
                else
                    in = stays(c_real, c_imag, steps, bound);
                out[column] = in ? 1.0f : 0.0f;
            }
        }
    }
}

}  // namespace

// graph[row * n + column] is 1 if the orbit of c = lattice[column] + i lattice[n - 1 - row] stays
// within the bound, otherwise 0. Row 0 is the top of the picture if the lattice ascends. Any launch
// gives the same result (threads.cuh); one thread for 8 points is fastest.
extern "C" __global__ void mandelbrot_ker(const float* lattice, float* graph, int max_iters,
                                          float upper_bound_squared, int lattice_size) {
    picture<Interior>(lattice, graph, max_iters, upper_bound_squared, lattice_size);
}
