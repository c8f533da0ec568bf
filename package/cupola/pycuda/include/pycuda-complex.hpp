// pycuda-complex.hpp - pycuda::complex for kernels: a pair with the arithmetic of numbers.
#ifndef CUPOLA_PYCUDA_COMPLEX_HPP
#define CUPOLA_PYCUDA_COMPLEX_HPP

extern "C++" {
namespace pycuda {

template <class T>
struct alignas(2 * sizeof(T)) complex {
    typedef T value_type;
    T re, im;

    complex() = default;
    __host__ __device__ complex(T re, T im = T()) : re(re), im(im) {}
    template <class U>
    __host__ __device__ complex(const complex<U>& z) : re(T(z.re)), im(T(z.im)) {}

    __host__ __device__ T real() const { return re; }
    __host__ __device__ T imag() const { return im; }

    __host__ __device__ complex& operator+=(const complex& z) { return *this = *this + z; }
    __host__ __device__ complex& operator-=(const complex& z) { return *this = *this - z; }
    __host__ __device__ complex& operator*=(const complex& z) { return *this = *this * z; }
    __host__ __device__ complex& operator/=(const complex& z) { return *this = *this / z; }

    // Friends, so that a real operand on either side is converted.
    friend __host__ __device__ complex operator+(const complex& x, const complex& y) {
        return complex(x.re + y.re, x.im + y.im);
    }
    friend __host__ __device__ complex operator-(const complex& x, const complex& y) {
        return complex(x.re - y.re, x.im - y.im);
    }
    friend __host__ __device__ complex operator*(const complex& x, const complex& y) {
        return complex(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re);
    }
    // Smith's algorithm: no square of a large or a small number.
    friend __host__ __device__ complex operator/(const complex& x, const complex& y) {
        if ((y.re < 0 ? -y.re : y.re) >= (y.im < 0 ? -y.im : y.im)) {
            const T ratio = y.im / y.re, scale = y.re + y.im * ratio;
            return complex((x.re + x.im * ratio) / scale, (x.im - x.re * ratio) / scale);
        }
        const T ratio = y.re / y.im, scale = y.re * ratio + y.im;
        return complex((x.re * ratio + x.im) / scale, (x.im * ratio - x.re) / scale);
    }
    friend __host__ __device__ complex operator+(const complex& z) { return z; }
    friend __host__ __device__ complex operator-(const complex& z) { return complex(-z.re, -z.im); }
    friend __host__ __device__ bool operator==(const complex& x, const complex& y) {
        return x.re == y.re && x.im == y.im;
    }
    friend __host__ __device__ bool operator!=(const complex& x, const complex& y) {
        return !(x == y);
    }

    static __device__ complex polar(T size, T angle) {
        return complex(size * ::cos(angle), size * ::sin(angle));
    }
};

// Templates of the namespace, since a friend is not found by its qualified name, pycuda::conj.
template <class T>
__host__ __device__ T real(const complex<T>& z) {
    return z.re;
}
template <class T>
__host__ __device__ T imag(const complex<T>& z) {
    return z.im;
}
template <class T>
__host__ __device__ T norm(const complex<T>& z) {
    return z.re * z.re + z.im * z.im;
}
template <class T>
__host__ __device__ complex<T> conj(const complex<T>& z) {
    return complex<T>(z.re, -z.im);
}
template <class T>
__device__ T abs(const complex<T>& z) {
    return ::hypot(z.re, z.im);
}
template <class T>
__device__ T arg(const complex<T>& z) {
    return ::atan2(z.im, z.re);
}
template <class T>
__device__ complex<T> exp(const complex<T>& z) {
    return complex<T>::polar(T(::exp(z.re)), z.im);
}
template <class T>
__device__ complex<T> log(const complex<T>& z) {
    return complex<T>(::log(abs(z)), arg(z));
}
template <class T>
__device__ complex<T> log10(const complex<T>& z) {
    return log(z) * complex<T>(T(0.43429448190325182765));
}
template <class T>
__device__ complex<T> sqrt(const complex<T>& z) {
    const T size = abs(z);
    const T most = ::sqrt((size + (z.re < 0 ? -z.re : z.re)) / 2);
    if (most == 0) return complex<T>(T(0), z.im);
    if (z.re >= 0) return complex<T>(most, z.im / (2 * most));
    return complex<T>((z.im < 0 ? -z.im : z.im) / (2 * most), z.im < 0 ? -most : most);
}
template <class T>
__device__ complex<T> pow(const complex<T>& z, const complex<T>& w) {
    return z == complex<T>(T(0)) ? complex<T>(w == complex<T>(T(0)) ? T(1) : T(0))
                                 : exp(w * log(z));
}
template <class T>
__device__ complex<T> pow(const complex<T>& z, const typename complex<T>::value_type& w) {
    return pow(z, complex<T>(w));
}
template <class T>
__device__ complex<T> pow(const typename complex<T>::value_type& z, const complex<T>& w) {
    return pow(complex<T>(z), w);
}
template <class T>
__device__ complex<T> sin(const complex<T>& z) {
    return complex<T>(::sin(z.re) * ::cosh(z.im), ::cos(z.re) * ::sinh(z.im));
}
template <class T>
__device__ complex<T> cos(const complex<T>& z) {
    return complex<T>(::cos(z.re) * ::cosh(z.im), -(::sin(z.re) * ::sinh(z.im)));
}
template <class T>
__device__ complex<T> sinh(const complex<T>& z) {
    return complex<T>(::sinh(z.re) * ::cos(z.im), ::cosh(z.re) * ::sin(z.im));
}
template <class T>
__device__ complex<T> cosh(const complex<T>& z) {
    return complex<T>(::cosh(z.re) * ::cos(z.im), ::sinh(z.re) * ::sin(z.im));
}
template <class T>
__device__ complex<T> tan(const complex<T>& z) {
    return sin(z) / cos(z);
}
template <class T>
__device__ complex<T> tanh(const complex<T>& z) {
    return sinh(z) / cosh(z);
}
template <class T>
__device__ complex<T> polar(const T& size, const T& angle = T()) {
    return complex<T>::polar(size, angle);
}

}  // namespace pycuda
}

#endif  // CUPOLA_PYCUDA_COMPLEX_HPP
