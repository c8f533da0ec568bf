// Copies words where the width and both addresses allow it.
extern "C" __global__ void gather_rows(const unsigned char* table, const int* ids,
                                       unsigned char* rows, int n, int width) {
    const unsigned char* from = table + (size_t)ids[blockIdx.x] * width;
    unsigned char* to = rows + (size_t)blockIdx.x * width;
    const size_t bits = (size_t)from | (size_t)to;
    int c = threadIdx.x;
    if (bits % 4 == 0) {
        for (int w = threadIdx.x; w < width / 4; w += blockDim.x)
            reinterpret_cast<unsigned*>(to)[w] = reinterpret_cast<const unsigned*>(from)[w];
        c += width / 4 * 4;
    }
    for (; c < width; c += blockDim.x) to[c] = from[c];
}
