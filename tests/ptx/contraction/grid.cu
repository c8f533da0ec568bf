// Differential equations on grids: stencils, implicit sweeps, lattices.
#include "kernel.cuh"

#define AT(x, y) in[((y)&31) * 64 + ((x)&63)]

KERNEL(heat_1d) {
    const int l = (i + n - 1) % n, r = (i + 1) % n;
    OUT(0) = in[i] + T(0.1) * (in[l] - T(2) * in[i] + in[r]);
}
KERNEL(heat_2d) {
    const int x = i & 63, y = i >> 6;
    OUT(0) = AT(x, y) +
             T(0.2) * (AT(x - 1, y) + AT(x + 1, y) + AT(x, y - 1) + AT(x, y + 1) - T(4) * AT(x, y));
}
KERNEL(heat_3d) {
    const int x = i & 15, y = i >> 4 & 7, z = i >> 7 & 15;
    const auto at = [&](int a, int b, int c) {
        return in[(c & 15) * 128 + (b & 7) * 16 + (a & 15)];
    };
    OUT(0) = T(0.4) * at(x, y, z) + T(0.1) * (at(x - 1, y, z) + at(x + 1, y, z) + at(x, y - 1, z) +
                                              at(x, y + 1, z) + at(x, y, z - 1) + at(x, y, z + 1));
}
KERNEL(anisotropic_2d) {
    const int x = i & 63, y = i >> 6;
    const T kx = T(0.15), ky = T(0.05);
    OUT(0) = AT(x, y) + kx * (AT(x - 1, y) - T(2) * AT(x, y) + AT(x + 1, y)) +
             ky * (AT(x, y - 1) - T(2) * AT(x, y) + AT(x, y + 1));
}
KERNEL(wave_2d) {
    const int x = i & 63, y = i >> 6;
    const T lap = AT(x - 1, y) + AT(x + 1, y) + AT(x, y - 1) + AT(x, y + 1) - T(4) * AT(x, y);
    OUT(0) = T(2) * AT(x, y) - IN(5) + T(0.25) * lap;
}
KERNEL(wave_fourth_order) {
    const int x = i & 63, y = i >> 6;
    const T lap = T(-5) * AT(x, y) +
                  T(4.0 / 3) * (AT(x - 1, y) + AT(x + 1, y) + AT(x, y - 1) + AT(x, y + 1)) -
                  T(1.0 / 12) * (AT(x - 2, y) + AT(x + 2, y) + AT(x, y - 2) + AT(x, y + 2));
    OUT(0) = T(2) * AT(x, y) - IN(4) + IN(5) * IN(5) * T(0.01) * lap;
}
KERNEL(advection_upwind) {
    const int l = (i + n - 1) % n, r = (i + 1) % n;
    const T u = IN(1);
    if (u > T(0))
        OUT(0) = in[i] - u * T(0.3) * (in[i] - in[l]);
    else
        OUT(0) = in[i] - u * T(0.3) * (in[r] - in[i]);
}
KERNEL(lax_wendroff) {
    const T c = IN(1) * T(0.4);
    const T l = in[(i + n - 1) % n], m = in[i], r = in[(i + 1) % n];
    OUT(0) = m - T(0.5) * c * (r - l) + T(0.5) * c * c * (r - T(2) * m + l);
}
KERNEL(burgers) {
    const T l = in[(i + n - 1) % n], m = in[i], r = in[(i + 1) % n];
    OUT(0) = m - T(0.05) * m * (r - l) + T(0.02) * (r - T(2) * m + l);
}
KERNEL(gray_scott) {
    const int x = i & 63, y = i >> 6;
    const T u = AT(x, y), v = IN(3);
    const T lap = AT(x - 1, y) + AT(x + 1, y) + AT(x, y - 1) + AT(x, y + 1) - T(4) * u;
    const T uvv = u * v * v;
    OUT(0) = u + T(0.16) * lap - uvv + T(0.035) * (T(1) - u);
    OUT(1) = v + T(0.08) * IN(4) + uvv - (T(0.06) + T(0.035)) * v;
}
KERNEL(fitzhugh_nagumo) {
    const T v = IN(0), w = IN(1);
    OUT(0) = v + T(0.01) * (v - v * v * v * T(1.0 / 3) - w + IN(2));
    OUT(1) = w + T(0.01) * T(0.08) * (v + T(0.7) - T(0.8) * w);
}
KERNEL(adi_row) {
    // One row of 32 points, solved along x, explicit along y.
    if (i >= 32) return;
    T c[32], d[32];
    const T a = T(-0.3), b = T(1.6);
    for (int k = 0; k < 32; ++k) {
        const T u = AT(k, i);
        d[k] = T(0.3) * AT(k, i - 1) + T(0.4) * u + T(0.3) * AT(k, i + 1);
    }
    c[0] = a / b;
    d[0] = d[0] / b;
    for (int k = 1; k < 32; ++k) {
        const T m = b - a * c[k - 1];
        c[k] = a / m;
        d[k] = (d[k] - a * d[k - 1]) / m;
    }
    out[i * 32 + 31] = d[31];
    for (int k = 30; k >= 0; --k) {
        d[k] = d[k] - c[k] * d[k + 1];
        out[i * 32 + k] = d[k];
    }
}
KERNEL(adi_column_runtime) {
    if (i >= 64) return;
    T* c = out + 64 * 64;
    T* d = out;
    const int count = n / 64;
    T cp = IN(0) * T(0.2), dp = in[i] * T(0.3);
    c[i] = cp;
    d[i] = dp;
    for (int k = 1; k < count; ++k) {
        const T a = in[k * 64 + i] * T(-0.25);
        const T m = T(1) / (T(2) - a * cp);
        cp = T(-0.25) * m;
        dp = (in[k * 64 + i] - a * dp) * m;
        c[k * 64 + i] = cp;
        d[k * 64 + i] = dp;
    }
    for (int k = count - 2; k >= 0; --k) {
        dp = d[k * 64 + i] - c[k * 64 + i] * dp;
        d[k * 64 + i] = dp;
    }
}
KERNEL(red_black_gauss_seidel) {
    const int x = i & 63, y = i >> 6;
    if (((x + y) & 1) == 0) {
        const T s = AT(x - 1, y) + AT(x + 1, y) + AT(x, y - 1) + AT(x, y + 1);
        OUT(0) = AT(x, y) + T(1.7) * (T(0.25) * (s - T(0.01) * IN(3)) - AT(x, y));
    } else {
        OUT(0) = AT(x, y);
    }
}
KERNEL(jacobi_varying) {
    const int x = i & 63, y = i >> 6;
    const T w = IN(4), e = IN(5), s = IN(6), t = IN(7);
    OUT(0) = (w * AT(x - 1, y) + e * AT(x + 1, y) + s * AT(x, y - 1) + t * AT(x, y + 1) + IN(8)) /
             (w + e + s + t + T(9));
}
KERNEL(multigrid_restrict) {
    const int x = 2 * (i & 31), y = 2 * (i >> 5 & 15);
    OUT(0) =
        T(0.25) * AT(x, y) +
        T(0.125) * (AT(x - 1, y) + AT(x + 1, y) + AT(x, y - 1) + AT(x, y + 1)) +
        T(0.0625) * (AT(x - 1, y - 1) + AT(x + 1, y - 1) + AT(x - 1, y + 1) + AT(x + 1, y + 1));
}
KERNEL(multigrid_prolong) {
    const int x = i & 63, y = i >> 6;
    const T fx = T(0.5) * T(x & 1), fy = T(0.5) * T(y & 1);
    const T a = AT(x / 2, y / 2), b = AT(x / 2 + 1, y / 2), c = AT(x / 2, y / 2 + 1),
            d = AT(x / 2 + 1, y / 2 + 1);
    OUT(0) = IN(3) + (T(1) - fx) * (T(1) - fy) * a + fx * (T(1) - fy) * b + (T(1) - fx) * fy * c +
             fx * fy * d;
}
KERNEL(shallow_water_flux) {
    const T h = IN(0) * IN(0) + T(1), hu = IN(1), hv = IN(2);
    const T u = hu / h, v = hv / h;
    OUT(0) = hu;
    OUT(1) = hu * u + T(0.5) * T(9.81) * h * h;
    OUT(2) = hu * v;
    OUT(3) = hv * v + T(4.905) * h * h;
}
KERNEL(euler_rusanov) {
    const T g = T(1.4);
    const T rl = IN(0) * IN(0) + T(1), ul = IN(1), pl = IN(2) * IN(2) + T(1);
    const T rr = IN(3) * IN(3) + T(1), ur = IN(4), pr = IN(5) * IN(5) + T(1);
    const T el = pl / (g - T(1)) + T(0.5) * rl * ul * ul,
            er = pr / (g - T(1)) + T(0.5) * rr * ur * ur;
    const T a = fmax(fabs(ul) + sqrt(g * pl / rl), fabs(ur) + sqrt(g * pr / rr));
    OUT(0) = T(0.5) * (rl * ul + rr * ur) - T(0.5) * a * (rr - rl);
    OUT(1) = T(0.5) * (rl * ul * ul + pl + rr * ur * ur + pr) - T(0.5) * a * (rr * ur - rl * ul);
    OUT(2) = T(0.5) * (ul * (el + pl) + ur * (er + pr)) - T(0.5) * a * (er - el);
}
KERNEL(lattice_boltzmann_d2q9) {
    T f[9];
    T rho = 0;
    for (int k = 0; k < 9; ++k) {
        f[k] = IN(k) * IN(k) + T(0.1);
        rho += f[k];
    }
    const T ux = (f[1] - f[3] + f[5] - f[6] - f[7] + f[8]) / rho;
    const T uy = (f[2] - f[4] + f[5] + f[6] - f[7] - f[8]) / rho;
    const T uu = T(1.5) * (ux * ux + uy * uy);
    const T w[9] = {T(4.0 / 9),  T(1.0 / 9),  T(1.0 / 9),  T(1.0 / 9), T(1.0 / 9),
                    T(1.0 / 36), T(1.0 / 36), T(1.0 / 36), T(1.0 / 36)};
    const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    for (int k = 0; k < 9; ++k) {
        const T cu = T(3) * (T(cx[k]) * ux + T(cy[k]) * uy);
        const T eq = w[k] * rho * (T(1) + cu + T(0.5) * cu * cu - uu);
        OUT(k) = f[k] + T(0.6) * (eq - f[k]);
    }
}
KERNEL(cahn_hilliard) {
    const int x = i & 63, y = i >> 6;
    const auto mu = [&](int a, int b) {
        const T u = AT(a, b);
        return u * u * u - u -
               T(0.5) * (AT(a - 1, b) + AT(a + 1, b) + AT(a, b - 1) + AT(a, b + 1) - T(4) * u);
    };
    OUT(0) = AT(x, y) + T(0.001) * (mu(x - 1, y) + mu(x + 1, y) + mu(x, y - 1) + mu(x, y + 1) -
                                    T(4) * mu(x, y));
}
KERNEL(fdtd_te) {
    const int x = i & 63, y = i >> 6;
    OUT(0) = IN(4) + T(0.5) * (AT(x, y) - AT(x, y - 1));
    OUT(1) = T(0.98) * IN(5) - T(0.5) * IN(7) * (AT(x, y) - AT(x - 1, y));
    OUT(2) = IN(6) * AT(x, y) - IN(8) * ((IN(9) - IN(10)) - (IN(11) - IN(12)));
}
KERNEL(tile_shared) {
    __shared__ T tile[130];
    const int t = threadIdx.x;
    tile[t + 1] = in[i];
    if (t == 0) tile[0] = in[(i + n - 1) % n];
    if (t == 127) tile[129] = in[(i + 1) % n];
    __syncthreads();
    T v = tile[t + 1];
    for (int k = 0; k < 4; ++k) {
        const T d = T(0.2) * (tile[t] - T(2) * v + tile[t + 2]);
        v = v + d;
        __syncthreads();
        tile[t + 1] = v;
        __syncthreads();
    }
    OUT(0) = v;
}
KERNEL(crank_nicolson_rhs) {
    const T r = IN(2) * T(0.5);
    const T l = in[(i + n - 1) % n], m = in[i], q = in[(i + 1) % n];
    OUT(0) = r * l + (T(1) - T(2) * r) * m + r * q;
}
