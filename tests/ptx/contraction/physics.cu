// Particles, motion, finance and chance.
#include "kernel.cuh"

KERNEL(nbody_pair) {
    const T dx = IN(3) - IN(0), dy = IN(4) - IN(1), dz = IN(5) - IN(2);
    const T d2 = dx * dx + dy * dy + dz * dz + T(0.01);
    const T inv = T(1) / sqrt(d2), f = IN(6) * inv * inv * inv;
    OUT(0) = f * dx;
    OUT(1) = f * dy;
    OUT(2) = f * dz;
}
KERNEL(nbody_all) {
    T ax = 0, ay = 0, az = 0;
    for (int j = 0; j < 64; ++j) {
        const T dx = in[j] - IN(0), dy = in[n + j] - IN(1), dz = in[2 * n + j] - IN(2);
        const T d2 = dx * dx + dy * dy + dz * dz + T(0.01);
        const T inv = T(1) / sqrt(d2), f = in[3 * n + j] * inv * inv * inv;
        ax += f * dx;
        ay += f * dy;
        az += f * dz;
    }
    OUT(0) = ax;
    OUT(1) = ay;
    OUT(2) = az;
}
KERNEL(nbody_tiled) {
    __shared__ T x[128], y[128], m[128];
    T ax = 0, ay = 0;
    for (int tile = 0; tile < 2; ++tile) {
        const int j = tile * 128 + threadIdx.x;
        x[threadIdx.x] = in[j];
        y[threadIdx.x] = in[n + j];
        m[threadIdx.x] = in[2 * n + j];
        __syncthreads();
        for (int k = 0; k < 128; ++k) {
            const T dx = x[k] - IN(0), dy = y[k] - IN(1), d2 = dx * dx + dy * dy + T(0.1);
            const T f = m[k] / (d2 * sqrt(d2));
            ax += dx * f;
            ay += dy * f;
        }
        __syncthreads();
    }
    OUT(0) = ax;
    OUT(1) = ay;
}
KERNEL(lennard_jones) {
    const T dx = IN(0), dy = IN(1), dz = IN(2);
    const T r2 = dx * dx + dy * dy + dz * dz + T(0.5), s = T(1) / r2, s3 = s * s * s;
    OUT(0) = T(4) * (s3 * s3 - s3);
    OUT(1) = T(24) * (T(2) * s3 * s3 - s3) * s * dx;
}
KERNEL(velocity_verlet) {
    const T dt = T(0.01), k = IN(2);
    const T a = -k * IN(0), x = IN(0) + IN(1) * dt + T(0.5) * a * dt * dt, b = -k * x;
    OUT(0) = x;
    OUT(1) = IN(1) + T(0.5) * (a + b) * dt;
}
KERNEL(leapfrog_steps) {
    T x = IN(0), v = IN(1);
    for (int k = 0; k < 10; ++k) {
        v = v - T(0.05) * x;
        x = x + T(0.05) * v;
    }
    OUT(0) = x;
    OUT(1) = v;
}
KERNEL(runge_kutta4) {
    const auto f = [&](T x, T t) { return IN(2) * x - x * x * T(0.1) + t; };
    T x = IN(0), t = 0;
    const T h = T(0.1);
    for (int k = 0; k < 4; ++k) {
        const T a = f(x, t), b = f(x + T(0.5) * h * a, t + T(0.5) * h),
                c = f(x + T(0.5) * h * b, t + T(0.5) * h);
        const T d = f(x + h * c, t + h);
        x = x + h / T(6) * (a + T(2) * b + T(2) * c + d);
        t += h;
    }
    OUT(0) = x;
}
KERNEL(runge_kutta2_runtime) {
    T x = IN(0), y = IN(1);
    const int steps = 2 + i % 6;
    const T h = T(0.02);
    for (int k = 0; k < steps; ++k) {
        const T mx = x + T(0.5) * h * y, my = y - T(0.5) * h * x * IN(2);
        x = x + h * my;
        y = y - h * mx * IN(2);
    }
    OUT(0) = x;
    OUT(1) = y;
}
KERNEL(lorenz) {
    T x = IN(0), y = IN(1), z = IN(2);
    for (int k = 0; k < 8; ++k) {
        const T dx = T(10) * (y - x), dy = x * (T(28) - z) - y, dz = x * y - T(8.0 / 3) * z;
        x += T(0.005) * dx;
        y += T(0.005) * dy;
        z += T(0.005) * dz;
    }
    OUT(0) = x;
    OUT(1) = y;
    OUT(2) = z;
}
KERNEL(van_der_pol) {
    T x = IN(0), y = IN(1);
    for (int k = 0; k < 6; ++k) {
        const T a = x + T(0.02) * y;
        y = y + T(0.02) * (IN(2) * (T(1) - x * x) * y - x);
        x = a;
    }
    OUT(0) = x;
    OUT(1) = y;
}
KERNEL(boris_push) {
    const T qm = T(0.1);
    T vx = IN(0) + qm * IN(3), vy = IN(1) + qm * IN(4), vz = IN(2) + qm * IN(5);
    const T tx = qm * IN(6), ty = qm * IN(7), tz = qm * IN(8),
            s = T(2) / (T(1) + tx * tx + ty * ty + tz * tz);
    const T px = vx + (vy * tz - vz * ty), py = vy + (vz * tx - vx * tz),
            pz = vz + (vx * ty - vy * tx);
    vx += s * (py * tz - pz * ty);
    vy += s * (pz * tx - px * tz);
    vz += s * (px * ty - py * tx);
    OUT(0) = vx + qm * IN(3);
    OUT(1) = vy + qm * IN(4);
    OUT(2) = vz + qm * IN(5);
}
KERNEL(cloud_in_cell) {
    const T x = fabs(IN(0)) * T(7), f = x - floor(x);
    const int c = int(x);
    OUT(0) = (T(1) - f) * in[c] + f * in[c + 1];
    OUT(1) = IN(1) * (T(1) - f);
    OUT(2) = IN(1) * f;
}
KERNEL(triangular_cloud) {
    const T x = IN(0), a = T(0.5) - x, b = T(0.5) + x;
    OUT(0) = T(0.5) * a * a * IN(1) + (T(0.75) - x * x) * IN(2) + T(0.5) * b * b * IN(3);
}
KERNEL(sph_poly6) {
    T rho = 0;
    for (int k = 0; k < 24; ++k) {
        const T dx = IN(0) - in[k], dy = IN(1) - in[n + k], r2 = dx * dx + dy * dy;
        if (r2 < T(2)) {
            const T d = T(2) - r2;
            rho += T(0.31) * d * d * d;
        }
    }
    OUT(0) = rho;
}
KERNEL(sph_pressure) {
    T fx = 0, fy = 0;
    for (int k = 0; k < 24; ++k) {
        const T dx = IN(0) - in[k], dy = IN(1) - in[n + k], r = sqrt(dx * dx + dy * dy + T(0.001));
        if (r < T(1.5)) {
            const T d = T(1.5) - r, p = (IN(2) + in[2 * n + k]) * T(0.5) * d * d / r;
            fx -= p * dx;
            fy -= p * dy;
        }
    }
    OUT(0) = fx;
    OUT(1) = fy;
}
KERNEL(spring) {
    const T dx = IN(2) - IN(0), dy = IN(3) - IN(1), l = sqrt(dx * dx + dy * dy);
    const T f = T(5) * (l - T(1)) / (l + T(0.1));
    OUT(0) = f * dx - T(0.1) * IN(4);
    OUT(1) = f * dy - T(0.1) * IN(5);
}
KERNEL(collision) {
    const T nx = IN(2) - IN(0), ny = IN(3) - IN(1), d = T(1) / sqrt(nx * nx + ny * ny + T(0.01));
    const T v = ((IN(6) - IN(4)) * nx + (IN(7) - IN(5)) * ny) * d;
    if (v < T(0)) {
        const T j = T(-1.8) * v * T(0.5) * d;
        OUT(0) = IN(4) - j * nx;
        OUT(1) = IN(5) - j * ny;
        OUT(2) = IN(6) + j * nx;
        OUT(3) = IN(7) + j * ny;
    } else {
        for (int k = 0; k < 4; ++k) OUT(k) = IN(4 + k);
    }
}
KERNEL(two_body_energy) {
    const T kinetic = T(0.5) * (IN(0) * IN(0) + IN(1) * IN(1) + IN(2) * IN(2));
    const T r = sqrt(IN(3) * IN(3) + IN(4) * IN(4) + IN(5) * IN(5));
    OUT(0) = kinetic - T(1) / r;
    OUT(1) = IN(3) * IN(1) - IN(4) * IN(0);
}
KERNEL(relativistic_push) {
    const T u2 = IN(0) * IN(0) + IN(1) * IN(1) + IN(2) * IN(2), g = T(1) / sqrt(T(1) + u2);
    OUT(0) = IN(3) + T(0.1) * g * IN(0);
    OUT(1) = IN(4) + T(0.1) * g * IN(1);
    OUT(2) = IN(5) + T(0.1) * g * IN(2);
}
KERNEL(binomial_option) {
    T v[9];
    for (int k = 0; k < 9; ++k) v[k] = fmax(T(90) + T(3) * T(k) + IN(0) - T(100), T(0));
    for (int s = 8; s > 0; --s)
        for (int k = 0; k < s; ++k) v[k] = T(0.99) * (T(0.52) * v[k + 1] + T(0.48) * v[k]);
    OUT(0) = v[0];
}
KERNEL(normal_density_polynomial) {
    const T x = fabs(IN(0)), k = T(1) / (T(1) + T(0.2316419) * x);
    OUT(0) =
        k *
        (T(0.319381530) +
         k * (T(-0.356563782) + k * (T(1.781477937) + k * (T(-1.821255978) + k * T(1.330274429)))));
}
KERNEL(black_scholes_terms) {
    const T s = T(20) + IN(0), x = T(18) + IN(1), t = IN(2) * IN(2) + T(0.25), v = T(0.3);
    const T root = sqrt(t), d1 = ((s - x) / x + (T(0.02) + T(0.5) * v * v) * t) / (v * root);
    OUT(0) = d1;
    OUT(1) = d1 - v * root;
    OUT(2) = s * d1 - x * (T(1) - T(0.02) * t) * (d1 - v * root);
}
KERNEL(explicit_option_step) {
    const T l = IN(0), m = IN(1), r = IN(2), j = T(1 + i % 40), v = T(0.04), rate = T(0.02),
            dt = T(0.01);
    OUT(0) = T(0.5) * dt * (v * j * j - rate * j) * l + (T(1) - dt * (v * j * j + rate)) * m +
             T(0.5) * dt * (v * j * j + rate * j) * r;
}
KERNEL(random_walk) {
    unsigned state = 12345u + i * 7919u;
    T x = IN(0);
    for (int k = 0; k < 10; ++k) {
        state = state * 1664525u + 1013904223u;
        const T u = T(state >> 8) * T(1.0 / 16777216) - T(0.5);
        x = x * T(0.98) + u * IN(1);
    }
    OUT(0) = x;
}
KERNEL(monte_carlo_pi) {
    unsigned state = 99u + i;
    int inside = 0;
    T last = 0;
    for (int k = 0; k < 20; ++k) {
        state = state * 1664525u + 1013904223u;
        const T x = T(state >> 8) * T(1.0 / 16777216);
        state = state * 1664525u + 1013904223u;
        const T y = T(state >> 8) * T(1.0 / 16777216);
        last = x * x + y * y;
        inside += last < T(1);
    }
    OUT(0) = T(inside);
    OUT(1) = last;
}
KERNEL(kalman) {
    T x = IN(0), p = T(1);
    for (int k = 1; k < 8; ++k) {
        p = p + T(0.01);
        const T gain = p / (p + T(0.1));
        x = x + gain * (IN(k) - x);
        p = (T(1) - gain) * p;
    }
    OUT(0) = x;
    OUT(1) = p;
}
KERNEL(logistic_map) {
    T x = fabs(IN(0)) * T(0.3) + T(0.1);
    for (int k = 0; k < 10; ++k) x = T(3.7) * x * (T(1) - x);
    OUT(0) = x;
}
KERNEL(perceptron) {
    T sum = IN(15);
    for (int k = 0; k < 7; ++k) sum += IN(k) * IN(k + 7);
    OUT(0) = sum > T(0) ? sum : T(0.01) * sum;
}
KERNEL(gradient_step) {
    const T e = IN(0) * IN(1) + IN(2) - IN(3);
    OUT(0) = IN(0) - T(0.1) * T(2) * e * IN(1);
    OUT(1) = IN(2) - T(0.1) * T(2) * e;
}
KERNEL(adam_step) {
    const T g = IN(0), m = T(0.9) * IN(1) + T(0.1) * g,
            v = T(0.999) * IN(2) * IN(2) + T(0.001) * g * g;
    OUT(0) = IN(3) - T(0.01) * (m / T(0.19)) / (sqrt(v / T(0.002)) + T(1e-6));
    OUT(1) = m;
    OUT(2) = v;
}
KERNEL(softsign_layer) {
    const T s = IN(0) * IN(4) + IN(1) * IN(5) + IN(2) * IN(6) + IN(3);
    OUT(0) = s / (T(1) + fabs(s));
}
KERNEL(sum_by_shuffle) {
    T v = IN(0) * IN(1);
    for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(0xffffffffu, v, k);
    OUT(0) = v;
}
KERNEL(dot_by_shuffle) {
    T v = 0;
    for (int k = 0; k < 4; ++k) v += IN(k) * IN(k + 4);
    for (int k = 16; k > 0; k /= 2) v = v + T(0.5) * __shfl_xor_sync(0xffffffffu, v, k);
    OUT(0) = v;
}
KERNEL(dot_by_block) {
    __shared__ T part[128];
    part[threadIdx.x] = IN(0) * IN(1) + IN(2);
    __syncthreads();
    for (int k = 64; k > 0; k /= 2) {
        if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k] * IN(3);
        __syncthreads();
    }
    OUT(0) = part[threadIdx.x];
}
KERNEL(prefix_products) {
    T v = IN(0);
    const int lane = threadIdx.x & 31;
    for (int k = 1; k < 32; k *= 2) {
        const T other = __shfl_up_sync(0xffffffffu, v, k);
        if (lane >= k) v = v * T(0.5) + other * T(0.25);
    }
    OUT(0) = v;
}
