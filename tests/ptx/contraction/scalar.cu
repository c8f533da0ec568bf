// Functions of one point: polynomials, sums, interpolation, complex numbers, transforms.
#include "kernel.cuh"

KERNEL(horner5) {
    const T x = IN(0);
    OUT(0) = ((((IN(1) * x + IN(2)) * x + IN(3)) * x + IN(4)) * x + IN(5)) * x + IN(6);
}
KERNEL(horner_constants) {
    const T x = IN(0);
    OUT(0) = T(1) + x * (T(-0.5) + x * (T(0.375) + x * (T(-0.3125) + x * T(0.2734375))));
}
KERNEL(horner_loop) {
    const T x = IN(0);
    const int count = 3 + i % 13;
    T sum = IN(1);
    for (int k = 0; k < count; ++k) sum = sum * x + IN(2 + k % 8);
    OUT(0) = sum;
}
KERNEL(estrin) {
    const T x = IN(0), x2 = x * x, x4 = x2 * x2;
    OUT(0) = (IN(1) + IN(2) * x) + (IN(3) + IN(4) * x) * x2 +
             ((IN(5) + IN(6) * x) + (IN(7) + IN(8) * x) * x2) * x4;
}
KERNEL(rational) {
    const T x = IN(0);
    OUT(0) = (IN(1) * x * x + IN(2) * x + IN(3)) / (x * x + T(0.5) * x + T(9));
}
KERNEL(taylor_exponential) {
    T sum = 1, term = 1;
    for (int k = 1; k < 12; ++k) {
        term *= IN(0) / T(k);
        sum += term;
    }
    OUT(0) = sum;
}
KERNEL(taylor_sine) {
    const T x = IN(0), xx = x * x;
    OUT(0) =
        x - x * xx * T(1.0 / 6) + x * xx * xx * T(1.0 / 120) - x * xx * xx * xx * T(1.0 / 5040);
}
KERNEL(power_sum) {
    T power = 1, sum = 0;
    for (int k = 0; k < 8; ++k) {
        power = power * IN(0);
        sum = sum + power;
    }
    OUT(0) = sum;
    OUT(1) = power;
}
KERNEL(chebyshev) {
    const T x = IN(0);
    T a = 1, b = x, sum = IN(1) + IN(2) * x;
    for (int k = 0; k < 5; ++k) {
        const T c = T(2) * x * b - a;
        a = b;
        b = c;
        sum += IN(3 + k) * c;
    }
    OUT(0) = sum;
}
KERNEL(legendre) {
    const T x = IN(0);
    T a = 1, b = x;
    for (int k = 2; k < 8; ++k) {
        const T c = (T(2 * k - 1) * x * b - T(k - 1) * a) / T(k);
        a = b;
        b = c;
    }
    OUT(0) = b;
}
KERNEL(clenshaw) {
    const T x2 = T(2) * IN(0);
    T b = 0, c = 0;
    for (int k = 8; k > 0; --k) {
        const T d = x2 * b - c + IN(k);
        c = b;
        b = d;
    }
    OUT(0) = IN(0) * b - c + IN(9);
}
KERNEL(kahan_sum) {
    T sum = 0, rest = 0;
    for (int k = 0; k < 12; ++k) {
        const T y = IN(k) * IN(k) - rest, t = sum + y;
        rest = (t - sum) - y;
        sum = t;
    }
    OUT(0) = sum;
    OUT(1) = rest;
}
KERNEL(two_sum) {
    const T a = IN(0) * IN(1), b = IN(2) * IN(3), s = a + b, z = s - a;
    OUT(0) = s;
    OUT(1) = (a - (s - z)) + (b - z);
}
KERNEL(two_product) {
    const T split = sizeof(T) == 8 ? T(134217729.0) : T(4097.0);
    const T a = IN(0), b = IN(1), p = a * b;
    const T ca = split * a, ah = ca - (ca - a), al = a - ah;
    const T cb = split * b, bh = cb - (cb - b), bl = b - bh;
    OUT(0) = p;
    OUT(1) = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
}
KERNEL(variance) {
    T mean = 0, square = 0;
    for (int k = 0; k < 10; ++k) {
        mean += IN(k);
        square += IN(k) * IN(k);
    }
    mean /= T(10);
    OUT(0) = square / T(10) - mean * mean;
}
KERNEL(welford) {
    T mean = 0, m2 = 0;
    for (int k = 0; k < 12; ++k) {
        const T d = IN(k) - mean;
        mean += d / T(k + 1);
        m2 += d * (IN(k) - mean);
    }
    OUT(0) = mean;
    OUT(1) = m2;
}
KERNEL(quadratic_roots) {
    const T a = IN(0), b = IN(1) * T(3), c = IN(2) * T(0.5);
    const T d = b * b - T(4) * a * c;
    if (d >= T(0)) {
        const T r = sqrt(d);
        OUT(0) = (-b + r) / (T(2) * a);
        OUT(1) = (-b - r) / (T(2) * a);
    } else {
        OUT(0) = -b / (T(2) * a);
        OUT(1) = d;
    }
}
KERNEL(newton_cube_root) {
    const T a = IN(0) * IN(0) + T(1);
    T x = a;
    for (int k = 0; k < 6; ++k) x = x - (x * x * x - a) / (T(3) * x * x);
    OUT(0) = x;
}
KERNEL(newton_reciprocal) {
    const T a = IN(0) * IN(0) * T(0.1) + T(1);
    T x = T(0.7);
    for (int k = 0; k < 5; ++k) x = x * (T(2) - a * x);
    OUT(0) = x;
}
KERNEL(newton_rsqrt) {
    const T a = IN(0) * IN(0) * T(0.1) + T(1);
    T x = T(0.8);
    for (int k = 0; k < 4; ++k) x = x * (T(1.5) - T(0.5) * a * x * x);
    OUT(0) = x;
}
KERNEL(bisection) {
    T a = 0, b = 2;
    for (int k = 0; k < 20; ++k) {
        const T m = T(0.5) * (a + b);
        if (m * m * m + IN(0) * m - T(1) > T(0))
            b = m;
        else
            a = m;
    }
    OUT(0) = a;
}
KERNEL(lerp) {
    OUT(0) = IN(0) + IN(2) * (IN(1) - IN(0));
    OUT(1) = (T(1) - IN(2)) * IN(0) + IN(2) * IN(1);
}
KERNEL(bilinear) {
    const T x = IN(4), y = IN(5);
    OUT(0) = (IN(0) * (T(1) - x) + IN(1) * x) * (T(1) - y) + (IN(2) * (T(1) - x) + IN(3) * x) * y;
}
KERNEL(trilinear) {
    const T x = IN(8), y = IN(9), z = IN(10);
    const T a = IN(0) + x * (IN(1) - IN(0)), b = IN(2) + x * (IN(3) - IN(2));
    const T c = IN(4) + x * (IN(5) - IN(4)), d = IN(6) + x * (IN(7) - IN(6));
    const T e = a + y * (b - a), f = c + y * (d - c);
    OUT(0) = e + z * (f - e);
}
KERNEL(catmull_rom) {
    const T t = IN(4), t2 = t * t, t3 = t2 * t;
    OUT(0) = T(0.5) * (T(2) * IN(1) + (IN(2) - IN(0)) * t +
                       (T(2) * IN(0) - T(5) * IN(1) + T(4) * IN(2) - IN(3)) * t2 +
                       (T(3) * IN(1) - IN(0) - T(3) * IN(2) + IN(3)) * t3);
}
KERNEL(hermite) {
    const T t = IN(4), t2 = t * t, t3 = t2 * t;
    OUT(0) = (T(2) * t3 - T(3) * t2 + T(1)) * IN(0) + (t3 - T(2) * t2 + t) * IN(1) +
             (T(3) * t2 - T(2) * t3) * IN(2) + (t3 - t2) * IN(3);
}
KERNEL(b_spline) {
    const T t = IN(4), s = T(1) - t;
    OUT(0) = (s * s * s * IN(0) + (T(3) * t * t * t - T(6) * t * t + T(4)) * IN(1) +
              (T(3) * s * s * s - T(6) * s * s + T(4)) * IN(2) + t * t * t * IN(3)) *
             T(1.0 / 6);
}
KERNEL(de_casteljau) {
    const T t = IN(4), s = T(1) - t;
    T p[4];
    for (int k = 0; k < 4; ++k) p[k] = IN(k);
    for (int r = 1; r < 4; ++r)
        for (int k = 0; k < 4 - r; ++k) p[k] = s * p[k] + t * p[k + 1];
    OUT(0) = p[0];
}
KERNEL(lagrange4) {
    const T x = IN(4), a = x + T(1), b = x, c = x - T(1), d = x - T(2);
    OUT(0) = IN(0) * (b * c * d * T(-1.0 / 6)) + IN(1) * (a * c * d * T(0.5)) +
             IN(2) * (a * b * d * T(-0.5)) + IN(3) * (a * b * c * T(1.0 / 6));
}
KERNEL(complex_product) {
    OUT(0) = IN(0) * IN(2) - IN(1) * IN(3);
    OUT(1) = IN(0) * IN(3) + IN(1) * IN(2);
}
KERNEL(complex_quotient) {
    const T d = IN(2) * IN(2) + IN(3) * IN(3);
    OUT(0) = (IN(0) * IN(2) + IN(1) * IN(3)) / d;
    OUT(1) = (IN(1) * IN(2) - IN(0) * IN(3)) / d;
}
KERNEL(complex_square_add) {
    T x = IN(0), y = IN(1);
    for (int k = 0; k < 6; ++k) {
        const T t = x * x - y * y + T(0.1) * IN(2);
        y = T(2) * x * y + T(0.1) * IN(3);
        x = t * T(0.5);
    }
    OUT(0) = x;
    OUT(1) = y;
}
KERNEL(mandelbrot_count) {
    const T a = IN(0), b = IN(1);
    T x = 0, y = 0;
    int k = 0;
    while (k < 50 && x * x + y * y < T(4)) {
        const T t = x * x - y * y + a;
        y = T(2) * x * y + b;
        x = t;
        ++k;
    }
    OUT(0) = T(k);
    OUT(1) = x;
    OUT(2) = y;
}
KERNEL(julia_distance) {
    T x = IN(0), y = IN(1), dx = 1, dy = 0;
    for (int k = 0; k < 5; ++k) {
        const T tx = T(2) * (x * dx - y * dy), ty = T(2) * (x * dy + y * dx);
        const T t = x * x - y * y - T(0.4);
        y = T(2) * x * y + T(0.6);
        x = t;
        dx = tx;
        dy = ty;
    }
    OUT(0) = x * x + y * y;
    OUT(1) = dx * dx + dy * dy;
}
KERNEL(fft_butterfly2) {
    const T tr = IN(2) * IN(4) - IN(3) * IN(5), ti = IN(2) * IN(5) + IN(3) * IN(4);
    OUT(0) = IN(0) + tr;
    OUT(1) = IN(1) + ti;
    OUT(2) = IN(0) - tr;
    OUT(3) = IN(1) - ti;
}
KERNEL(fft_radix4) {
    T r[4], q[4];
    for (int k = 0; k < 4; ++k) {
        const T c = IN(8 + k), s = IN(12 + k);
        r[k] = IN(k) * c - IN(k + 4) * s;
        q[k] = IN(k) * s + IN(k + 4) * c;
    }
    OUT(0) = (r[0] + r[2]) + (r[1] + r[3]);
    OUT(1) = (q[0] + q[2]) + (q[1] + q[3]);
    OUT(2) = (r[0] - r[2]) + (q[1] - q[3]);
    OUT(3) = (q[0] - q[2]) - (r[1] - r[3]);
    OUT(4) = (r[0] + r[2]) - (r[1] + r[3]);
    OUT(5) = (q[0] + q[2]) - (q[1] + q[3]);
}
KERNEL(dct4) {
    const T a = IN(0) + IN(3), b = IN(1) + IN(2), c = IN(0) - IN(3), d = IN(1) - IN(2);
    OUT(0) = T(0.5) * (a + b);
    OUT(1) = T(0.6532814824) * c + T(0.2705980501) * d;
    OUT(2) = T(0.5) * (a - b);
    OUT(3) = T(0.2705980501) * c - T(0.6532814824) * d;
}
KERNEL(goertzel) {
    T a = 0, b = 0;
    for (int k = 0; k < 16; ++k) {
        const T c = IN(k) + T(1.2) * a - b;
        b = a;
        a = c;
    }
    OUT(0) = a * a + b * b - a * b * T(1.2);
}
KERNEL(biquad) {
    T x1 = 0, x2 = 0, y1 = 0, y2 = 0;
    for (int k = 0; k < 16; ++k) {
        const T x = IN(k);
        const T y = T(0.2) * x + T(0.4) * x1 + T(0.2) * x2 + T(0.6) * y1 - T(0.25) * y2;
        x2 = x1;
        x1 = x;
        y2 = y1;
        y1 = y;
        OUT(k) = y;
    }
}
KERNEL(running_average) {
    T average = IN(0);
    const int count = 4 + i % 12;
    for (int k = 1; k < count; ++k) average = average * T(0.9) + IN(k) * T(0.1);
    OUT(0) = average;
}
KERNEL(simpson) {
    T sum = 0;
    const T h = T(0.125);
    for (int k = 0; k <= 8; ++k) {
        const T x = T(k) * h, f = T(1) / (T(1) + IN(0) * IN(0) * x * x);
        sum += f * (k == 0 || k == 8 ? T(1) : k % 2 ? T(4) : T(2));
    }
    OUT(0) = sum * h / T(3);
}
KERNEL(agm) {
    T a = T(1) + IN(0) * IN(0), b = T(1);
    for (int k = 0; k < 4; ++k) {
        const T c = T(0.5) * (a + b);
        b = sqrt(a * b);
        a = c;
    }
    OUT(0) = a;
}
KERNEL(continued_fraction) {
    T value = IN(7);
    for (int k = 6; k >= 0; --k) value = IN(k) + T(1) / (value * value + T(1));
    OUT(0) = value;
}
KERNEL(selected_product) {
    const T a = IN(0) * IN(1), b = IN(2) * IN(3);
    OUT(0) = (IN(4) > T(0) ? a : b) + IN(5);
    OUT(1) = IN(4) > T(0) ? a + IN(6) : b - IN(6);
}
KERNEL(shared_product) {
    const T p = IN(0) * IN(1);
    OUT(0) = p + IN(2);
    OUT(1) = p - IN(3);
    OUT(2) = IN(4) - p;
}
KERNEL(stored_product) {
    const T p = IN(0) * IN(1);
    OUT(0) = p;
    OUT(1) = p + IN(2);
    OUT(2) = IN(3) * IN(4) + p;
}
KERNEL(branch_product) {
    const T p = IN(0) * IN(1), q = T(1.1) * IN(2);
    T r = IN(3);
    if (IN(4) > T(0)) {
        r = p + r;
        OUT(1) = q - IN(5);
    } else {
        r = r - p * IN(6);
        OUT(1) = q + IN(7) * IN(8);
    }
    OUT(0) = r;
}
KERNEL(long_scan) {
    T sum = IN(0);
    const int count = 8 + i % 40;
    for (int k = 0; k < count; ++k) {
        const T v = in[(i + 17 * k) % n];
        sum = sum + v * T(0.5);
        if (sum > T(3)) sum = sum - T(1.5) * v;
    }
    OUT(0) = sum;
}
KERNEL(difference_of_products) {
    OUT(0) = IN(0) * IN(1) - IN(2) * IN(3);
    OUT(1) = -(IN(0) * IN(1)) - IN(2) * IN(3);
    OUT(2) = IN(4) - (IN(0) * IN(1) + IN(2) * IN(3));
    OUT(3) = -IN(4) * IN(5) + IN(6);
}
