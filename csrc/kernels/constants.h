// csrc/kernels/constants.h - numbers that kernels share with the Python code that launches them.
//
// The build writes each constant and each enumeration as a name of cupola/kernel_constants.py. A
// constant has one line; csrc/constants.py says which lines it reads.
#pragma once

namespace cupola::constants {

// Scans (scan.cuh): threads of a block, and elements of a thread by the bytes of a total. These are
// as many elements as shared memory holds, because a wait for earlier tiles takes as long for few.
// The numbers are odd, so that the threads of a warp read from all banks.
constexpr int scan_threads = 256;
constexpr int scan_tile_threads = 384;
constexpr int scan_items_4 = 31;
constexpr int scan_items_8 = 15;
constexpr int scan_items_16 = 7;

// Sorts of rows in one block (sort_rows.cu): threads, and elements of a thread.
constexpr int sort_row_threads = 128;
constexpr int sort_row_items = 4;
constexpr int sort_long_row_threads = 256;
constexpr int sort_long_row_items = 16;

// Radix sorts of long rows (sort.cu): the low bits of a word count elements. The two highest bits
// of the word say what these low bits count.
constexpr int sort_digits = 256;
constexpr int sort_count_bits = 30;
constexpr int sort_key_threads = 256;  // block size of kernels whose threads have one key each
// Threads of a block and elements of a thread, by the bits of a key; wide pairs have indices of 64
// bits.
constexpr int sort_keys_8_threads = 512;
constexpr int sort_keys_8_items = 19;
constexpr int sort_keys_16_threads = 384;
constexpr int sort_keys_16_items = 21;
constexpr int sort_keys_32_threads = 384;
constexpr int sort_keys_32_items = 21;
constexpr int sort_keys_64_threads = 384;
constexpr int sort_keys_64_items = 15;
constexpr int sort_pairs_8_threads = 512;
constexpr int sort_pairs_8_items = 17;
constexpr int sort_pairs_16_threads = 512;
constexpr int sort_pairs_16_items = 17;
constexpr int sort_pairs_32_threads = 384;
constexpr int sort_pairs_32_items = 23;
constexpr int sort_pairs_64_threads = 384;
constexpr int sort_pairs_64_items = 15;
constexpr int sort_wide_pairs_64_threads = 384;
constexpr int sort_wide_pairs_64_items = 11;

// Compaction (select.cu): threads of a block, and elements of a thread. Elements above 4 bytes are
// wide. A tile has 32 KB of shared memory for all elements but bytes.
constexpr int select_threads = 512;
constexpr int select_wide_threads = 256;
constexpr int select_items = 16;
constexpr int select_items_16 = 8;  // elements of 16 bytes

// Histograms (histogram.cu): elements of a thread. Elements above 4 bytes are wide.
constexpr int histogram_items = 16;
constexpr int histogram_wide_items = 8;

// Quantiles (quantile.cu): threads of a block, and quantiles of one launch.
constexpr int quantile_threads = 256;
constexpr int quantile_most = 32;

// Reductions of segments (segments.cu): threads of a block.
constexpr int segments_threads = 256;

// Products of matrices: threads of a block, and rows and columns of a tile.
constexpr int matmul_threads = 256;
constexpr int matmul_f32_lines = 64;
constexpr int matmul_f64_lines = 32;
constexpr int matmul_large_parts = 2;  // a large tile has the lines of this number of small tiles
constexpr int matmul_simple_lines = 32;
constexpr int matmul_half_lines = 128;
// Bytes of dynamic shared memory: three steps of two sides of 128 x 40 elements, and the operands.
constexpr int matmul_half_shared = 3 * 2 * matmul_half_lines * 40 * 2 + 96;

// How an index becomes a position along an axis (index.cu).
enum IndexMode : int { RAISE, WRAP, CLIP, CHECKED };

// Passes of a write by indices (index_put.cuh). WRITE writes the values of all indices, or those of
// the winners. MARK marks positions, and writes the first value of each. REPAIR writes the winners'
// values to positions that several indices name.
enum PutPass : int { WRITE, MARK, REPAIR };
// Writes by few indices: threads of a block, and the most indices.
constexpr int index_few_threads = 1024;
constexpr int index_few = 4096;
// Copies of rows: the most threads that share a row, and words of a thread.
constexpr int index_lanes = 256;
constexpr int index_row_words = 4;

// Random numbers: NumPy's limit of means, ten deviations below 2^63, and the limit of
// hypergeometric numbers.
constexpr double random_largest_mean = 9223372036854775808.0 - 10 * 3037000499.97605;
constexpr int random_hypergeometric_limit = 1000000000;

// The kinds of distributions that a kernel chooses between.
enum class Continuous {
    lognormal,
    laplace,
    logistic,
    gumbel,
    rayleigh,
    weibull,
    pareto,
    power,
    triangular,
    standard_cauchy,
    gamma,
    beta,
    chisquare,
    f,
    standard_t,
    wald
};
enum class Discrete { poisson, binomial, geometric, negative_binomial };
enum class RareContinuous { noncentral_chisquare, noncentral_f, vonmises };
enum class RareDiscrete { hypergeometric, logseries, zipf };

}  // namespace cupola::constants
