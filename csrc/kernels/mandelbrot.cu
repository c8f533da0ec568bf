// csrc/kernels/mandelbrot.cu - finds the points of a lattice that stay bounded under z -> z^2 + c.
#include "orbit.cuh"
#include "threads.cuh"

namespace {

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

// A shortcut finds orbits that never leave. This one finds none, so each orbit is followed to its
// end. benchmarks/kernels.cu has a proof that examines the orbit.
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
