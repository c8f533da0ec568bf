// csrc/kernels/mandelbrot_image.cu - the Mandelbrot set as a coloured, anti-aliased picture.
#include "orbit.cuh"
#include "threads.cuh"

namespace {

constexpr float image_bound = 0x1p16f;  // bound of |z|^2; a large bound makes the colours smooth
constexpr float cycles = 0.385f;        // colour cycles for each doubling of the escape time
constexpr float first_hue = -0.766f;    // the whole set is surrounded by dark blue

// The number of the first step that takes |z|^2 above the bound, smoothed to a real number; 0 where
// none of `iterations` steps does. An orbit that is out of the bound stays out, so
// one comparison in eight is enough; the last eight steps are then repeated one by one.
__device__ float escape_time(float c_real, float c_imag, int iterations) {
    if (known(c_real, c_imag)) return 0;
    Orbit z;
    int steps = 0;
    for (; iterations - steps >= group; steps += group) {
        Orbit ahead = z;
#pragma unroll
        for (int i = 0; i < group; ++i) ahead.step(c_real, c_imag);
        if (!(ahead.norm() <= image_bound)) break;
        z = ahead;
    }
#pragma unroll 1
    while (steps < iterations) {
        z.step(c_real, c_imag);
        ++steps;
        if (z.norm() <= image_bound) continue;
        const float smooth = static_cast<float>(steps + 1) - log2f(log2f(z.norm()) / 16);
        return fmaxf(smooth, 1);
    }
    return 0;
}

// Light of one channel, 0 to 1; its square root is what a picture stores.
__device__ float light(float hue) {
    const float wave = sinpif(hue);
    return wave * wave * (wave * wave);
}

__device__ unsigned char stored(float mean) {
    return static_cast<unsigned char>(255 * sqrtf(mean) + 0.5f);
}

}  // namespace

// out[row, column] = red, green and blue of a pixel: the mean light of samples x samples points.
// A point inside the set is black. The centre of the picture is the point `center`; `half_step` is
// half of the distance between two points; width * samples and height * samples are 2^24 at most.
// Any grid and block are valid (threads.cuh).
extern "C" __global__ void mandelbrot_image(unsigned char* out, float center_real,
                                            float center_imag, float half_step, int iterations,
                                            int width, int height, int samples) {
    const std::size_t pixels = std::size_t{static_cast<unsigned>(width)} * height;
    const float weight = 1 / static_cast<float>(samples * samples);
    const Ranks ranks = launch_ranks();
    for (std::size_t pixel = ranks.first; pixel < pixels; pixel += ranks.stride) {
        const int row = static_cast<int>(pixel / width), column = static_cast<int>(pixel % width);
        float red = 0, green = 0, blue = 0;
#pragma unroll 1
        for (int sample = 0; sample < samples * samples; ++sample) {
            // Twice the place of the point, from the middle of the picture.
            const int right = 2 * (column * samples + sample % samples) + 1 - width * samples;
            const int down = 2 * (row * samples + sample / samples) + 1 - height * samples;
            const float c_real = __fadd_rn(center_real, __fmul_rn(half_step, float(right)));
            const float c_imag = __fsub_rn(center_imag, __fmul_rn(half_step, float(down)));
            const float time = escape_time(c_real, c_imag, iterations);
            if (time == 0) continue;
            const float hue = cycles * log2f(time) + first_hue;
            red += light(hue - 0.10f);
            green += light(hue - 0.02f);
            blue += light(hue + 0.09f);
        }
        out[3 * pixel] = stored(weight * red);
        out[3 * pixel + 1] = stored(weight * green);
        out[3 * pixel + 2] = stored(weight * blue);
    }
}
