// cupola: block = [96]
// cupola: grid = ["ceildiv(n, 192)"]
// The complement of a negative number is not negative, and has the complement of its quotient.
extern "C" __global__ void floor_divide(const int* a, const int* b, int* q, int n) {
    for (int part = 0; part < 2; ++part) {
        const int i = (blockIdx.x * 2 + part) * 96 + threadIdx.x;
        if (i >= n) break;
        const int sign = a[i] >> 31;
        q[i] = ((a[i] ^ sign) / b[i]) ^ sign;
    }
}
