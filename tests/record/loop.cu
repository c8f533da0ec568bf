// tests/record/loop.cu - a loop of launches by the runtime API. In one of them, a block writes out
// of bounds.
#include <cstdio>
#include <cstdlib>

__device__ int turns;

__global__ void advance(float* state, const float* rate, int turn, int wrong) {
    const int block = blockIdx.x;
    const int i = turn == wrong && block == 17003 ? block + (1 << 20) : block;
    if (block == 0 && threadIdx.x == 0) turns = turn + 1;
    state[i] += rate[block];
}

// Arguments: launches, and the number of the launch that writes out of bounds.
int main(int, char** argv) {
    const int blocks = 20000, launches = std::atoi(argv[1]), wrong = std::atoi(argv[2]);
    float *state = nullptr, *rate = nullptr;
    cudaMalloc(&state, blocks * sizeof(float));
    cudaMalloc(&rate, blocks * sizeof(float));
    cudaMemset(state, 0, blocks * sizeof(float));
    cudaMemset(rate, 0, blocks * sizeof(float));
    for (int turn = 0; turn < launches; ++turn) {
        const int used = turn == wrong ? blocks : 64;  // few blocks keep the test short
        advance<<<used, 1>>>(state, rate, turn, wrong);
    }
    const cudaError_t error = cudaDeviceSynchronize();
    std::printf("%s\n", cudaGetErrorName(error));
    return 0;
}
