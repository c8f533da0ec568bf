# cupola/pycuda/_random_source.py - generators and distributions in CUDA C++.
"""The source of `cupola.pycuda.curandom`'s kernels; STATE is the generator's class."""

SOURCE = r"""
typedef unsigned int word;
typedef unsigned long long wide;

// Spreads a seed over words: the finalizer of MurmurHash3 on a counter.
__device__ word spread(word seed, word place) {
    word x = seed + 0x9e3779b9u * (place + 1);
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}

struct Xorwow {
    word x[5], counter;
    __device__ void start(word seed, word number) {
        for (int i = 0; i < 5; ++i) x[i] = spread(seed ^ spread(number, 77), i);
        x[0] |= 1;  // not all zeros
        counter = spread(seed, number);
    }
    __device__ word next() {
        const word t = x[0] ^ (x[0] >> 2), last = x[4];
        for (int i = 0; i < 4; ++i) x[i] = x[i + 1];
        x[4] = last ^ (last << 4) ^ t ^ (t << 1);
        counter += 362437u;
        return x[4] + counter;
    }
    __device__ void skip(wide count) {
        while (count--) next();
    }
};

struct Mrg32k3a {
    word x[3], y[3];
    static constexpr wide m1 = 4294967087ull, m2 = 4294944443ull;
    __device__ void start(word seed, word number) {
        for (int i = 0; i < 3; ++i) {
            x[i] = (word)(1 + spread(seed ^ spread(number, 77), i) % (m1 - 1));
            y[i] = (word)(1 + spread(seed ^ spread(number, 77), i + 3) % (m2 - 1));
        }
    }
    __device__ word one() {
        const wide a = (1403580ull * x[1] + 810728ull * (m1 - x[0]) % m1) % m1;
        const wide b = (527612ull * y[2] + 1370589ull * (m2 - y[0]) % m2) % m2;
        x[0] = x[1], x[1] = x[2], x[2] = (word)a;
        y[0] = y[1], y[1] = y[2], y[2] = (word)b;
        return (word)((a + m1 - b) % m1);
    }
    // All 32 bits: a step has slightly fewer values, so the low halves of two are joined.
    __device__ word next() { return one() << 16 ^ one() >> 8; }
    __device__ void skip(wide count) {
        while (count--) next();
    }
};

struct Philox {
    word key[2], counter[4], made[4], used, unused;
    __device__ void start(word seed, word number) {
        key[0] = seed, key[1] = 0;
        counter[0] = counter[1] = 0, counter[2] = number, counter[3] = 0;
        used = 4, unused = 0;
    }
    __device__ void make() {
        word k0 = key[0], k1 = key[1];
        word c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
        for (int round = 0; round < 10; ++round) {
            const wide p = 0xd2511f53ull * c0, q = 0xcd9e8d57ull * c2;
            c0 = (word)(q >> 32) ^ c1 ^ k0, c1 = (word)q;
            c2 = (word)(p >> 32) ^ c3 ^ k1, c3 = (word)p;
            k0 += 0x9e3779b9u, k1 += 0xbb67ae85u;
        }
        made[0] = c0, made[1] = c1, made[2] = c2, made[3] = c3;
        if (++counter[0] == 0) ++counter[1];
        used = 0;
    }
    __device__ word next() {
        if (used == 4) make();
        return made[used++];
    }
    __device__ void skip(wide count) {
        while (count && used < 4) ++used, --count;
        const wide at = (((wide)counter[1] << 32) | counter[0]) + count / 4;
        counter[0] = (word)at, counter[1] = (word)(at >> 32);
        for (count %= 4; count; --count) next();
    }
};

// Between 0 and 1, without both.
__device__ void uniform(STATE& s, float& out) { out = ((s.next() >> 9) + 0.5f) * 0x1p-23f; }
__device__ void uniform(STATE& s, double& out) {
    const wide bits = (wide)s.next() << 32 | s.next();
    out = ((bits >> 12) + 0.5) * 0x1p-52;
}
__device__ void uniform(STATE& s, word& out) { out = s.next(); }
__device__ void uniform(STATE& s, wide& out) { out = (wide)s.next() << 32 | s.next(); }

// Box and Muller: two at a time.
template <class T>
__device__ void normal(STATE& s, T& one, T& other) {
    T u, v;
    uniform(s, u);
    uniform(s, v);
    const T size = sqrt(T(-2) * log(u)), angle = T(6.283185307179586477) * v;
    one = size * cos(angle);
    other = size * sin(angle);
}

// The number of arrivals: a large mean is the sum of means of 16, whose exp() is no zero.
__device__ word poisson_of(STATE& s, double mean) {
    word count = 0;
    while (mean > 0) {
        const double part = mean < 16 ? mean : 16, limit = exp(-part);
        double product, u;
        uniform(s, product);
        while (product > limit) {
            ++count;
            uniform(s, u);
            product *= u;
        }
        mean -= part;
    }
    return count;
}

#define NUMBER (blockIdx.x * blockDim.x + threadIdx.x)
#define EACH(i) for (wide i = NUMBER; i < n; i += (wide)gridDim.x * blockDim.x)

template <class T>
__device__ void fill_uniform(STATE* states, T* out, wide n) {
    STATE s = states[NUMBER];
    EACH(i) uniform(s, out[i]);
    states[NUMBER] = s;
}
template <class T, bool Exponential>
__device__ void fill_normal(STATE* states, T* out, wide n, double mean, double deviation) {
    STATE s = states[NUMBER];
    T other = 0;
    bool have = false;
    EACH(i) {
        T one = other;
        if (!have) normal(s, one, other);
        have = !have;
        one = T(mean) + T(deviation) * one;
        out[i] = Exponential ? exp(one) : one;
    }
    states[NUMBER] = s;
}
template <class T>
__device__ void replace_by_poisson(STATE* states, T* out, wide n) {
    STATE s = states[NUMBER];
    EACH(i) out[i] = T(poisson_of(s, double(out[i])));
    states[NUMBER] = s;
}

extern "C" {
__global__ void prepare(STATE* states, const int* seeds, wide offset) {
    STATE s;
    s.start((word)seeds[NUMBER], NUMBER);
    s.skip(offset);
    states[NUMBER] = s;
}
__global__ void skip(STATE* states, wide count) { states[NUMBER].skip(count); }
__global__ void skip_each(STATE* states, const wide* counts) {
    states[NUMBER].skip(counts[NUMBER]);
}
__global__ void uniform_f(STATE* s, float* out, wide n) { fill_uniform(s, out, n); }
__global__ void uniform_d(STATE* s, double* out, wide n) { fill_uniform(s, out, n); }
__global__ void uniform_u(STATE* s, word* out, wide n) { fill_uniform(s, out, n); }
__global__ void uniform_l(STATE* s, wide* out, wide n) { fill_uniform(s, out, n); }
__global__ void normal_f(STATE* s, float* out, wide n, double mean, double deviation) {
    fill_normal<float, false>(s, out, n, mean, deviation);
}
__global__ void normal_d(STATE* s, double* out, wide n, double mean, double deviation) {
    fill_normal<double, false>(s, out, n, mean, deviation);
}
__global__ void log_normal_f(STATE* s, float* out, wide n, double mean, double deviation) {
    fill_normal<float, true>(s, out, n, mean, deviation);
}
__global__ void log_normal_d(STATE* s, double* out, wide n, double mean, double deviation) {
    fill_normal<double, true>(s, out, n, mean, deviation);
}
__global__ void poisson(STATE* states, word* out, wide n, double mean) {
    STATE s = states[NUMBER];
    EACH(i) out[i] = poisson_of(s, mean);
    states[NUMBER] = s;
}
__global__ void poisson_u(STATE* s, word* out, wide n) { replace_by_poisson(s, out, n); }
__global__ void poisson_f(STATE* s, float* out, wide n) { replace_by_poisson(s, out, n); }
__global__ void poisson_d(STATE* s, double* out, wide n) { replace_by_poisson(s, out, n); }
}
"""
