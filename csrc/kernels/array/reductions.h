// csrc/kernels/array/reductions.h - arguments that the runtime passes to the reduction kernels.
//
// Plain C++, for host and device.
#pragma once

namespace cupola::reductions {

// The reduction operations. Each kernel has all of them and selects one at run time.
enum Joint : int { add, multiply, minimum, maximum };

}  // namespace cupola::reductions

namespace cupola::arrays {

constexpr int reduced_axes = 8;      // kept axes, and reduced axes
constexpr unsigned reducers = 256;   // threads in every block
constexpr unsigned in_flight = 4;    // packs that a thread loads before it uses the first pack
constexpr unsigned flush_after = 8;  // the longest chain of additions

// The bytes that a thread loads at once: from one row, and from a few columns of adjacent rows.
constexpr unsigned row_pack = 16;
constexpr unsigned column_pack(unsigned size) { return size == 1 ? 4 : size == 2 ? 8 : 16; }

// Results are numbered in C order of the kept axes. Each is reduced from `length` elements in
// `segments` pieces; a second launch combines several pieces. The order of additions depends only
// on these numbers, not on the device.
struct Reduced {
    unsigned long long x, y;     // y: the other factor of a product, or indices of x
    unsigned long long out;      // 0 if partial results are stored
    unsigned long long partial;  // in the accumulator type, in order
    unsigned long long indices;  // indices of partial results
    unsigned long long length;
    unsigned units;  // results times segments (times tiles of columns)
    unsigned segments, segment_length;
    unsigned tiles;                   // tiles of columns
    unsigned long long divide;        // divisor of a mean; 0 if it is not a mean
    unsigned long long columns;       // length of the innermost kept axis
    long long row_step, column_step;  // bytes between rows of x, and between columns of out
    long long column_x;               // bytes between columns of x
    int joint, log_width;             // 2^log_width threads work on one segment
    int truth;                        // reduces the truth values of the elements
    int x_element, y_element, out_element;
    int kept, reduced;  // numbers of axes; axes are innermost first
    unsigned long long kept_lengths[reduced_axes];
    long long kept_x[reduced_axes], kept_out[reduced_axes];
    unsigned long long reduced_lengths[reduced_axes];
    long long reduced_x[reduced_axes], reduced_y[reduced_axes];
};

}  // namespace cupola::arrays
