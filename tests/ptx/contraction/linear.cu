// Linear algebra: products, factorizations and solvers of small systems, one in each thread.
#include "kernel.cuh"

KERNEL(saxpy) { OUT(0) = T(2.5) * IN(0) + IN(1); }
KERNEL(axpby) { OUT(0) = IN(2) * IN(0) + IN(3) * IN(1); }
KERNEL(scaled_difference) {
    OUT(0) = IN(0) - IN(1) * IN(2);
    OUT(1) = IN(0) * IN(1) - IN(2);
}
KERNEL(dot3) { OUT(0) = IN(0) * IN(3) + IN(1) * IN(4) + IN(2) * IN(5); }
KERNEL(dot8) {
    T sum = 0;
    for (int k = 0; k < 8; ++k) sum += IN(k) * IN(k + 8);
    OUT(0) = sum;
}
KERNEL(norm2) { OUT(0) = sqrt(IN(0) * IN(0) + IN(1) * IN(1) + IN(2) * IN(2)); }
KERNEL(normalize3) {
    const T x = IN(0), y = IN(1), z = IN(2);
    const T scale = T(1) / sqrt(x * x + y * y + z * z);
    OUT(0) = x * scale;
    OUT(1) = y * scale;
    OUT(2) = z * scale;
}
KERNEL(cross3) {
    OUT(0) = IN(1) * IN(5) - IN(2) * IN(4);
    OUT(1) = IN(2) * IN(3) - IN(0) * IN(5);
    OUT(2) = IN(0) * IN(4) - IN(1) * IN(3);
}
KERNEL(determinant2) { OUT(0) = IN(0) * IN(3) - IN(1) * IN(2); }
KERNEL(determinant3) {
    OUT(0) = IN(0) * (IN(4) * IN(8) - IN(5) * IN(7)) - IN(1) * (IN(3) * IN(8) - IN(5) * IN(6)) +
             IN(2) * (IN(3) * IN(7) - IN(4) * IN(6));
}
KERNEL(determinant4) {
    T m[16];
    for (int k = 0; k < 16; ++k) m[k] = IN(k);
    const T s0 = m[0] * m[5] - m[4] * m[1], s1 = m[0] * m[6] - m[4] * m[2];
    const T s2 = m[0] * m[7] - m[4] * m[3], s3 = m[1] * m[6] - m[5] * m[2];
    const T s4 = m[1] * m[7] - m[5] * m[3], s5 = m[2] * m[7] - m[6] * m[3];
    const T c5 = m[10] * m[15] - m[14] * m[11], c4 = m[9] * m[15] - m[13] * m[11];
    const T c3 = m[9] * m[14] - m[13] * m[10], c2 = m[8] * m[15] - m[12] * m[11];
    const T c1 = m[8] * m[14] - m[12] * m[10], c0 = m[8] * m[13] - m[12] * m[9];
    OUT(0) = s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0;
}
KERNEL(inverse2) {
    const T a = IN(0), b = IN(1), c = IN(2), d = IN(3);
    const T scale = T(1) / (a * d - b * c);
    OUT(0) = d * scale;
    OUT(1) = -b * scale;
    OUT(2) = -c * scale;
    OUT(3) = a * scale;
}
KERNEL(inverse3) {
    T m[9];
    for (int k = 0; k < 9; ++k) m[k] = IN(k);
    const T c0 = m[4] * m[8] - m[5] * m[7], c1 = m[5] * m[6] - m[3] * m[8];
    const T c2 = m[3] * m[7] - m[4] * m[6];
    const T scale = T(1) / (m[0] * c0 + m[1] * c1 + m[2] * c2);
    OUT(0) = c0 * scale;
    OUT(1) = (m[2] * m[7] - m[1] * m[8]) * scale;
    OUT(2) = (m[1] * m[5] - m[2] * m[4]) * scale;
    OUT(3) = c1 * scale;
    OUT(4) = (m[0] * m[8] - m[2] * m[6]) * scale;
    OUT(5) = (m[2] * m[3] - m[0] * m[5]) * scale;
    OUT(6) = c2 * scale;
    OUT(7) = (m[1] * m[6] - m[0] * m[7]) * scale;
    OUT(8) = (m[0] * m[4] - m[1] * m[3]) * scale;
}
KERNEL(matrix3_vector) {
    for (int r = 0; r < 3; ++r)
        OUT(r) = IN(3 * r) * IN(9) + IN(3 * r + 1) * IN(10) + IN(3 * r + 2) * IN(11);
}
KERNEL(matrix4_point) {
    for (int r = 0; r < 3; ++r)
        OUT(r) =
            IN(4 * r) * IN(12) + IN(4 * r + 1) * IN(13) + IN(4 * r + 2) * IN(14) + IN(4 * r + 3);
}
KERNEL(matrix3_product) {
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) {
            T sum = 0;
            for (int k = 0; k < 3; ++k) sum += IN(3 * r + k) * IN((3 * k + c + 7) % 16);
            OUT(3 * r + c) = sum;
        }
}
KERNEL(matrix4_square) {
    for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 4; ++c) {
            T sum = IN(4 * r) * IN(c);
            for (int k = 1; k < 4; ++k) sum += IN(4 * r + k) * IN(4 * k + c);
            OUT(4 * r + c) = sum;
        }
}
KERNEL(lu4) {
    T m[4][4];
    for (int k = 0; k < 16; ++k) m[k / 4][k % 4] = IN(k) + (k % 5 == 0 ? T(4) : T(0));
    for (int k = 0; k < 4; ++k)
        for (int r = k + 1; r < 4; ++r) {
            m[r][k] /= m[k][k];
            for (int c = k + 1; c < 4; ++c) m[r][c] -= m[r][k] * m[k][c];
        }
    for (int k = 0; k < 16; ++k) OUT(k) = m[k / 4][k % 4];
}
KERNEL(cholesky3) {
    const T a = IN(0) * IN(0) + T(4), b = IN(1), c = IN(2), d = IN(3) * IN(3) + T(6), e = IN(4);
    const T f = IN(5) * IN(5) + T(9);
    const T l00 = sqrt(a), l10 = b / l00, l20 = c / l00;
    const T l11 = sqrt(d - l10 * l10), l21 = (e - l20 * l10) / l11;
    OUT(0) = l00;
    OUT(1) = l10;
    OUT(2) = l20;
    OUT(3) = l11;
    OUT(4) = l21;
    OUT(5) = sqrt(f - l20 * l20 - l21 * l21);
}
KERNEL(gram_schmidt) {
    T u[3], v[3], w[3];
    for (int k = 0; k < 3; ++k) {
        u[k] = IN(k);
        v[k] = IN(k + 3);
        w[k] = IN(k + 6);
    }
    const T uu = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
    const T a = (u[0] * v[0] + u[1] * v[1] + u[2] * v[2]) / uu;
    for (int k = 0; k < 3; ++k) v[k] -= a * u[k];
    const T vv = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    const T b = (u[0] * w[0] + u[1] * w[1] + u[2] * w[2]) / uu;
    const T c = (v[0] * w[0] + v[1] * w[1] + v[2] * w[2]) / vv;
    for (int k = 0; k < 3; ++k) {
        OUT(k) = v[k];
        OUT(k + 3) = w[k] - b * u[k] - c * v[k];
    }
}
KERNEL(givens) {
    const T a = IN(0), b = IN(1);
    const T r = sqrt(a * a + b * b), c = a / r, s = b / r;
    for (int k = 2; k < 6; ++k) {
        OUT(k - 2) = c * IN(k) + s * IN(k + 4);
        OUT(k + 2) = c * IN(k + 4) - s * IN(k);
    }
}
KERNEL(jacobi_rotation) {
    const T p = IN(0), q = IN(1), r = IN(2);
    if (fabs(r) > T(0.01)) {
        const T theta = (q - p) / (T(2) * r);
        const T t = (theta >= 0 ? T(1) : T(-1)) / (fabs(theta) + sqrt(theta * theta + T(1)));
        const T c = T(1) / sqrt(t * t + T(1)), s = t * c;
        OUT(0) = p - t * r;
        OUT(1) = q + t * r;
        OUT(2) = c * IN(3) - s * IN(4);
        OUT(3) = s * IN(3) + c * IN(4);
    } else {
        OUT(0) = p;
        OUT(1) = q;
        OUT(2) = IN(3);
        OUT(3) = IN(4);
    }
}
KERNEL(householder) {
    const T x = IN(0), y = IN(1), z = IN(2);
    const T alpha = sqrt(x * x + y * y + z * z);
    const T v0 = x + (x > 0 ? alpha : -alpha);
    const T beta = T(2) / (v0 * v0 + y * y + z * z);
    for (int k = 0; k < 4; ++k) {
        const T a = IN(3 + k), b = IN(7 + k), c = IN(11 + k);
        const T w = beta * (v0 * a + y * b + z * c);
        OUT(k) = a - w * v0;
        OUT(k + 4) = b - w * y;
        OUT(k + 8) = c - w * z;
    }
}
KERNEL(conjugate_gradient_step) {
    const T ap0 = T(4) * IN(0) - IN(1), ap1 = T(4) * IN(1) - IN(0) - IN(2),
            ap2 = T(4) * IN(2) - IN(1);
    const T rr = IN(3) * IN(3) + IN(4) * IN(4) + IN(5) * IN(5);
    const T alpha = rr / (IN(0) * ap0 + IN(1) * ap1 + IN(2) * ap2);
    const T r0 = IN(3) - alpha * ap0, r1 = IN(4) - alpha * ap1, r2 = IN(5) - alpha * ap2;
    const T beta = (r0 * r0 + r1 * r1 + r2 * r2) / rr;
    OUT(0) = IN(6) + alpha * IN(0);
    OUT(1) = IN(7) + alpha * IN(1);
    OUT(2) = IN(8) + alpha * IN(2);
    OUT(3) = r0 + beta * IN(0);
    OUT(4) = r1 + beta * IN(1);
    OUT(5) = r2 + beta * IN(2);
}
KERNEL(power_iteration) {
    T x = 1, y = T(0.5);
    for (int k = 0; k < 5; ++k) {
        const T u = IN(0) * x + IN(1) * y, v = IN(1) * x + IN(2) * y;
        const T scale = T(1) / sqrt(u * u + v * v);
        x = u * scale;
        y = v * scale;
    }
    OUT(0) = x;
    OUT(1) = y;
}
KERNEL(sparse_row) {
    T sum = 0;
    const int length = 3 + i % 9;
    for (int k = 0; k < length; ++k) sum += in[(i * 7 + k * 13) % (4 * n)] * IN(4 + k % 4);
    OUT(0) = sum;
}
KERNEL(rank_one_update) {
    for (int k = 0; k < 4; ++k)
        for (int j = 0; j < 4; ++j) OUT(4 * k + j) = IN(4 * k + j) + IN(k) * IN(4 + j) * T(0.25);
}
KERNEL(thomas8) {
    T c[8], d[8];
    c[0] = IN(0) / T(4);
    d[0] = IN(8) / T(4);
    for (int k = 1; k < 8; ++k) {
        const T m = T(1) / (T(4) - IN(k) * c[k - 1]);
        c[k] = T(0.75) * m;
        d[k] = (IN(k + 8) - IN(k) * d[k - 1]) * m;
    }
    OUT(7) = d[7];
    for (int k = 6; k >= 0; --k) OUT(k) = d[k] = d[k] - c[k] * d[k + 1];
}
KERNEL(cyclic_reduction_row) {
    const T a = IN(0), b = T(4) + IN(1), c = IN(2), d = IN(3);
    const T k1 = a / (T(4) + IN(4)), k2 = c / (T(4) + IN(5));
    OUT(0) = -IN(6) * k1;
    OUT(1) = b - IN(7) * k1 - IN(8) * k2;
    OUT(2) = -IN(9) * k2;
    OUT(3) = d - IN(10) * k1 - IN(11) * k2;
}
