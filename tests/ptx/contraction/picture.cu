// Rays, rotations, colours, filters and noise.
#include "kernel.cuh"

KERNEL(quaternion_product) {
    OUT(0) = IN(0) * IN(4) - IN(1) * IN(5) - IN(2) * IN(6) - IN(3) * IN(7);
    OUT(1) = IN(0) * IN(5) + IN(1) * IN(4) + IN(2) * IN(7) - IN(3) * IN(6);
    OUT(2) = IN(0) * IN(6) - IN(1) * IN(7) + IN(2) * IN(4) + IN(3) * IN(5);
    OUT(3) = IN(0) * IN(7) + IN(1) * IN(6) - IN(2) * IN(5) + IN(3) * IN(4);
}
KERNEL(quaternion_rotate) {
    const T w = IN(0), x = IN(1), y = IN(2), z = IN(3), a = IN(4), b = IN(5), c = IN(6);
    const T tx = T(2) * (y * c - z * b), ty = T(2) * (z * a - x * c), tz = T(2) * (x * b - y * a);
    OUT(0) = a + w * tx + (y * tz - z * ty);
    OUT(1) = b + w * ty + (z * tx - x * tz);
    OUT(2) = c + w * tz + (x * ty - y * tx);
}
KERNEL(quaternion_matrix) {
    const T w = IN(0), x = IN(1), y = IN(2), z = IN(3);
    OUT(0) = T(1) - T(2) * (y * y + z * z);
    OUT(1) = T(2) * (x * y - w * z);
    OUT(2) = T(2) * (x * z + w * y);
    OUT(3) = T(2) * (x * y + w * z);
    OUT(4) = T(1) - T(2) * (x * x + z * z);
    OUT(5) = T(2) * (y * z - w * x);
    OUT(6) = T(2) * (x * z - w * y);
    OUT(7) = T(2) * (y * z + w * x);
    OUT(8) = T(1) - T(2) * (x * x + y * y);
}
KERNEL(rotate_2d) {
    OUT(0) = IN(2) * IN(0) - IN(3) * IN(1);
    OUT(1) = IN(3) * IN(0) + IN(2) * IN(1);
}
KERNEL(rodrigues) {
    const T c = IN(6), s = IN(7), k = T(1) - c;
    const T d = (IN(0) * IN(3) + IN(1) * IN(4) + IN(2) * IN(5)) * k;
    OUT(0) = IN(3) * c + (IN(1) * IN(5) - IN(2) * IN(4)) * s + IN(0) * d;
    OUT(1) = IN(4) * c + (IN(2) * IN(3) - IN(0) * IN(5)) * s + IN(1) * d;
    OUT(2) = IN(5) * c + (IN(0) * IN(4) - IN(1) * IN(3)) * s + IN(2) * d;
}
KERNEL(ray_sphere) {
    const T ox = IN(0), oy = IN(1), oz = IN(2), dx = IN(3), dy = IN(4), dz = IN(5);
    const T a = dx * dx + dy * dy + dz * dz, b = ox * dx + oy * dy + oz * dz,
            c = ox * ox + oy * oy + oz * oz - T(1);
    const T d = b * b - a * c;
    if (d < T(0)) {
        OUT(0) = T(-1);
        return;
    }
    const T t = (-b - sqrt(d)) / a;
    OUT(0) = t;
    OUT(1) = ox + t * dx;
    OUT(2) = oy + t * dy;
    OUT(3) = oz + t * dz;
}
KERNEL(ray_plane) {
    const T d = IN(0) * IN(3) + IN(1) * IN(4) + IN(2) * IN(5);
    const T t = (IN(6) - (IN(0) * IN(7) + IN(1) * IN(8) + IN(2) * IN(9))) / d;
    OUT(0) = IN(7) + t * IN(3);
    OUT(1) = IN(8) + t * IN(4);
    OUT(2) = IN(9) + t * IN(5);
}
KERNEL(ray_triangle) {
    const T ex = IN(0), ey = IN(1), ez = IN(2), fx = IN(3), fy = IN(4), fz = IN(5);
    const T dx = IN(6), dy = IN(7), dz = IN(8), sx = IN(9), sy = IN(10), sz = IN(11);
    const T px = dy * fz - dz * fy, py = dz * fx - dx * fz, pz = dx * fy - dy * fx;
    const T det = ex * px + ey * py + ez * pz;
    if (fabs(det) < T(0.001)) return;
    const T inv = T(1) / det, u = (sx * px + sy * py + sz * pz) * inv;
    const T qx = sy * ez - sz * ey, qy = sz * ex - sx * ez, qz = sx * ey - sy * ex;
    OUT(0) = u;
    OUT(1) = (dx * qx + dy * qy + dz * qz) * inv;
    OUT(2) = (fx * qx + fy * qy + fz * qz) * inv;
}
KERNEL(ray_box) {
    T near = T(-100), far = T(100);
    for (int k = 0; k < 3; ++k) {
        const T inv = T(1) / IN(k), a = (T(-1) - IN(k + 3)) * inv, b = (T(1) - IN(k + 3)) * inv;
        near = fmax(near, fmin(a, b));
        far = fmin(far, fmax(a, b));
    }
    OUT(0) = near * T(0.5) + far * T(0.5);
    OUT(1) = far - near;
}
KERNEL(reflect) {
    const T d = T(2) * (IN(0) * IN(3) + IN(1) * IN(4) + IN(2) * IN(5));
    for (int k = 0; k < 3; ++k) OUT(k) = IN(k) - d * IN(k + 3);
}
KERNEL(refract) {
    const T d = IN(0) * IN(3) + IN(1) * IN(4) + IN(2) * IN(5), eta = T(0.66);
    const T k = T(1) - eta * eta * (T(1) - d * d);
    const T s = eta * d + sqrt(fabs(k));
    for (int j = 0; j < 3; ++j) OUT(j) = k < T(0) ? T(0) : eta * IN(j) - s * IN(j + 3);
}
KERNEL(phong) {
    const T d = fmax(T(0), IN(0) * IN(3) + IN(1) * IN(4) + IN(2) * IN(5));
    T h = fmax(T(0), IN(0) * IN(6) + IN(1) * IN(7) + IN(2) * IN(8));
    h = h * h;
    h = h * h;
    h = h * h;
    OUT(0) = T(0.1) + T(0.6) * d + T(0.3) * h;
}
KERNEL(fresnel_schlick) {
    const T c = T(1) - fabs(IN(0)), c2 = c * c, f0 = T(0.04);
    OUT(0) = f0 + (T(1) - f0) * c2 * c2 * c;
}
KERNEL(barycentric) {
    const T d = (IN(3) - IN(5)) * (IN(0) - IN(4)) + (IN(4) - IN(2)) * (IN(1) - IN(5));
    const T a = ((IN(3) - IN(5)) * (IN(6) - IN(4)) + (IN(4) - IN(2)) * (IN(7) - IN(5))) / d;
    const T b = ((IN(5) - IN(1)) * (IN(6) - IN(4)) + (IN(0) - IN(4)) * (IN(7) - IN(5))) / d;
    OUT(0) = a * IN(8) + b * IN(9) + (T(1) - a - b) * IN(10);
}
KERNEL(perspective) {
    const T w = T(1) / (IN(2) * IN(2) + T(1));
    OUT(0) = (IN(0) * T(1.2) * w + T(1)) * T(320);
    OUT(1) = (T(1) - IN(1) * T(1.6) * w) * T(240);
}
KERNEL(rgb_to_yuv) {
    const T r = IN(0), g = IN(1), b = IN(2);
    OUT(0) = T(0.299) * r + T(0.587) * g + T(0.114) * b;
    OUT(1) = T(-0.14713) * r - T(0.28886) * g + T(0.436) * b;
    OUT(2) = T(0.615) * r - T(0.51499) * g - T(0.10001) * b;
}
KERNEL(yuv_to_rgb) {
    OUT(0) = IN(0) + T(1.13983) * IN(2);
    OUT(1) = IN(0) - T(0.39465) * IN(1) - T(0.58060) * IN(2);
    OUT(2) = IN(0) + T(2.03211) * IN(1);
}
KERNEL(rgb_to_xyz) {
    OUT(0) = T(0.4124564) * IN(0) + T(0.3575761) * IN(1) + T(0.1804375) * IN(2);
    OUT(1) = T(0.2126729) * IN(0) + T(0.7151522) * IN(1) + T(0.0721750) * IN(2);
    OUT(2) = T(0.0193339) * IN(0) + T(0.1191920) * IN(1) + T(0.9503041) * IN(2);
}
KERNEL(rgb_to_hsv) {
    const T r = fabs(IN(0)), g = fabs(IN(1)), b = fabs(IN(2)), v = fmax(r, fmax(g, b)),
            d = v - fmin(r, fmin(g, b)) + T(0.001);
    T h;
    if (v == r)
        h = (g - b) / d;
    else if (v == g)
        h = T(2) + (b - r) / d;
    else
        h = T(4) + (r - g) / d;
    OUT(0) = h * T(60) + T(1);
    OUT(1) = d / (v + T(0.01));
    OUT(2) = v;
}
KERNEL(alpha_blend) {
    const T a = IN(3), s = T(1) - a;
    for (int k = 0; k < 3; ++k) OUT(k) = a * IN(k) + s * IN(k + 4);
}
KERNEL(tone_map) {
    const T x = fabs(IN(0));
    OUT(0) = (x * (T(2.51) * x + T(0.03))) / (x * (T(2.43) * x + T(0.59)) + T(0.14));
}
KERNEL(sobel) {
    const T gx = IN(2) + T(2) * IN(5) + IN(8) - IN(0) - T(2) * IN(3) - IN(6);
    const T gy = IN(6) + T(2) * IN(7) + IN(8) - IN(0) - T(2) * IN(1) - IN(2);
    OUT(0) = sqrt(gx * gx + gy * gy);
}
KERNEL(gaussian3) {
    OUT(0) = T(0.0625) * (IN(0) + IN(2) + IN(6) + IN(8)) +
             T(0.125) * (IN(1) + IN(3) + IN(5) + IN(7)) + T(0.25) * IN(4);
}
KERNEL(separable5) {
    T sum = 0;
    const T w[5] = {T(0.06), T(0.24), T(0.4), T(0.24), T(0.06)};
    for (int k = 0; k < 5; ++k) sum += w[k] * in[(i + k) % n];
    OUT(0) = sum;
}
KERNEL(convolution_runtime) {
    T sum = 0;
    const int radius = 1 + i % 7;
    for (int k = -radius; k <= radius; ++k) sum += in[(i + k + n) % n] * in[n + k + 8];
    OUT(0) = sum;
}
KERNEL(bilateral_rational) {
    T sum = 0, weight = 0;
    for (int k = 0; k < 9; ++k) {
        const T d = IN(k) - IN(4), w = T(1) / (T(1) + T(2) * d * d);
        sum += w * IN(k);
        weight += w;
    }
    OUT(0) = sum / weight;
}
KERNEL(unsharp) {
    const T mean =
        (IN(0) + IN(1) + IN(2) + IN(3) + IN(4) + IN(5) + IN(6) + IN(7) + IN(8)) * T(1.0 / 9);
    OUT(0) = IN(4) + T(1.5) * (IN(4) - mean);
}
KERNEL(harris) {
    const T xx = IN(0) * IN(0) + IN(2) * IN(2), yy = IN(1) * IN(1) + IN(3) * IN(3),
            xy = IN(0) * IN(1) + IN(2) * IN(3);
    const T trace = xx + yy;
    OUT(0) = xx * yy - xy * xy - T(0.04) * trace * trace;
}
KERNEL(lucas_kanade) {
    T a = 0, b = 0, c = 0, d = 0, e = 0;
    for (int k = 0; k < 5; ++k) {
        const T x = IN(k), y = IN(k + 5), t = IN(k + 10);
        a += x * x;
        b += x * y;
        c += y * y;
        d -= x * t;
        e -= y * t;
    }
    const T det = a * c - b * b + T(0.1);
    OUT(0) = (c * d - b * e) / det;
    OUT(1) = (a * e - b * d) / det;
}
KERNEL(lens_distortion) {
    const T r2 = IN(0) * IN(0) + IN(1) * IN(1), k = T(1) + T(0.1) * r2 + T(0.01) * r2 * r2;
    OUT(0) = IN(0) * k + T(2) * T(0.001) * IN(0) * IN(1) + T(0.002) * (r2 + T(2) * IN(0) * IN(0));
    OUT(1) = IN(1) * k + T(0.001) * (r2 + T(2) * IN(1) * IN(1)) + T(2) * T(0.002) * IN(0) * IN(1);
}
KERNEL(smoothstep) {
    T t = (IN(0) - T(-1)) / T(3);
    t = fmin(fmax(t, T(0)), T(1));
    OUT(0) = t * t * (T(3) - T(2) * t);
    OUT(1) = t * t * t * (t * (t * T(6) - T(15)) + T(10));
}
KERNEL(value_noise) {
    const T x = fabs(IN(0)) * T(5), f = x - floor(x);
    const int c = int(x);
    const unsigned h = (c * 374761393u) >> 8 & 1023u, g = ((c + 1) * 374761393u) >> 8 & 1023u;
    const T u = f * f * (T(3) - T(2) * f), a = T(h) * T(1.0 / 1024), b = T(g) * T(1.0 / 1024);
    OUT(0) = a * (T(1) - u) + b * u;
}
KERNEL(perlin_2d) {
    const T x = fabs(IN(0)) * T(3), y = fabs(IN(1)) * T(3), fx = x - floor(x), fy = y - floor(y);
    const int cx = int(x), cy = int(y);
    const auto corner = [&](int a, int b, T dx, T dy) {
        const unsigned h = (a * 73856093u ^ b * 19349663u) >> 4 & 3u;
        return (h & 1u ? -dx : dx) + (h & 2u ? -dy : dy);
    };
    const T u = fx * fx * fx * (fx * (fx * T(6) - T(15)) + T(10)),
            v = fy * fy * fy * (fy * (fy * T(6) - T(15)) + T(10));
    const T a = corner(cx, cy, fx, fy), b = corner(cx + 1, cy, fx - T(1), fy);
    const T c = corner(cx, cy + 1, fx, fy - T(1)), d = corner(cx + 1, cy + 1, fx - T(1), fy - T(1));
    const T e = a + u * (b - a), f = c + u * (d - c);
    OUT(0) = e + v * (f - e);
}
KERNEL(fractal_octaves) {
    T amplitude = 1, frequency = 1, sum = 0;
    for (int k = 0; k < 5; ++k) {
        const T x = IN(0) * frequency, f = x - floor(x);
        sum += amplitude * f * (T(1) - f);
        amplitude *= T(0.5);
        frequency *= T(2.1);
    }
    OUT(0) = sum;
}
KERNEL(signed_distance_torus) {
    const T q = sqrt(IN(0) * IN(0) + IN(2) * IN(2)) - T(1);
    OUT(0) = sqrt(q * q + IN(1) * IN(1)) - T(0.25);
}
KERNEL(sphere_trace) {
    T t = 0;
    for (int k = 0; k < 12; ++k) {
        const T x = IN(0) + t * IN(3), y = IN(1) + t * IN(4), z = T(-3) + t;
        const T d = sqrt(x * x + y * y + z * z) - T(1);
        if (d < T(0.001)) break;
        t += d;
    }
    OUT(0) = t;
}
