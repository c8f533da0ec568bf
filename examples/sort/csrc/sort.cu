// csrc/sort.cu - a stable merge sort; the comparison comes from the package's user.

// Whether a comes before b. cupola.link takes it from the user.
extern "C" __device__ bool less(const float& a, const float& b);

constexpr int threads = 256, each = 8, tile = threads * each;

// How many of the first `count` numbers of the merge of a and b come from a. Of equal numbers
// those of a come first.
template <class Index>
__device__ Index split(const float* a, Index size_a, const float* b, Index size_b, Index count) {
    Index low = count > size_b ? count - size_b : 0, high = count < size_a ? count : size_a;
    while (low < high) {
        const Index middle = (low + high) / 2;
        if (less(b[count - 1 - middle], a[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

// The numbers from `begin` on of the merge of a and b, as many as there are, at most `each`.
__device__ void merge(const float* a, int size_a, const float* b, int size_b, int begin,
                      float (&out)[each]) {
    int i = split(a, size_a, b, size_b, begin), j = begin - i;
    for (int k = 0; k < each; ++k) {
        if (i < size_a && (j >= size_b || !less(b[j], a[i])))
            out[k] = a[i++];
        else if (j < size_b)
            out[k] = b[j++];
    }
}

// Sorts each tile of x.
extern "C" __global__ void __launch_bounds__(threads)
    sort_tiles(const float* x, float* out, long long n) {
    __shared__ float numbers[tile];
    const long long start = static_cast<long long>(blockIdx.x) * tile;
    const int count = n - start < tile ? static_cast<int>(n - start) : tile;
    for (int i = threadIdx.x; i < count; i += threads) numbers[i] = x[start + i];
    __syncthreads();

    const int first = threadIdx.x * each;
    const int mine = min(max(count - first, 0), each);
    float own[each];
    for (int k = 0; k < mine; ++k) own[k] = numbers[first + k];
    for (int round = 0; round < each; ++round)
        for (int k = round & 1; k + 1 < mine; k += 2)
            if (less(own[k + 1], own[k])) {
                const float other = own[k];
                own[k] = own[k + 1];
                own[k + 1] = other;
            }
    for (int width = each;; width *= 2) {
        __syncthreads();
        for (int k = 0; k < mine; ++k) numbers[first + k] = own[k];
        __syncthreads();
        if (width >= count) break;
        const int begin = first / (2 * width) * (2 * width);
        const int size_a = max(min(width, count - begin), 0);
        const int size_b = max(min(width, count - begin - width), 0);
        if (mine)
            merge(numbers + begin, size_a, numbers + begin + width, size_b, first - begin, own);
    }
    for (int i = threadIdx.x; i < count; i += threads) out[start + i] = numbers[i];
}

// Merges sorted runs of `width` numbers, a multiple of a tile, in pairs. A block makes a tile.
extern "C" __global__ void __launch_bounds__(threads)
    merge_runs(const float* x, float* out, long long n, long long width) {
    __shared__ float numbers[tile];
    __shared__ long long splits[2];
    const long long start = static_cast<long long>(blockIdx.x) * tile;
    const long long begin = start / (2 * width) * (2 * width), rest = n - begin;
    const long long size_a = rest < width ? rest : width;
    const long long size_b = rest - size_a < width ? rest - size_a : width;
    const float *a = x + begin, *b = a + size_a;
    const long long from = start - begin, whole = size_a + size_b;
    const long long to = from + tile < whole ? from + tile : whole;
    if (threadIdx.x < 2) splits[threadIdx.x] = split(a, size_a, b, size_b, threadIdx.x ? to : from);
    __syncthreads();

    const long long a0 = splits[0], b0 = from - a0;
    const int in_a = static_cast<int>(splits[1] - a0), in_all = static_cast<int>(to - from);
    for (int i = threadIdx.x; i < in_all; i += threads)
        numbers[i] = i < in_a ? a[a0 + i] : b[b0 + i - in_a];
    __syncthreads();
    const int first = threadIdx.x * each;
    float own[each];
    if (first < in_all) merge(numbers, in_a, numbers + in_a, in_all - in_a, first, own);
    __syncthreads();
    for (int k = 0; k < each && first + k < in_all; ++k) numbers[first + k] = own[k];
    __syncthreads();
    for (int i = threadIdx.x; i < in_all; i += threads) out[start + i] = numbers[i];
}
