// csrc/kernels/array/reductions.h - what the runtime passes to the kernels that reduce arrays.
//
// Plain C++, for both sides of a launch.
#pragma once

namespace cupola::reductions {

// What elements are joined by. They share each kernel, which chooses among them as it runs.
enum Joint : int { add, multiply, minimum, maximum };

}  // namespace cupola::reductions

namespace cupola::arrays {

constexpr int reduced_axes = 8;      // of either kind
constexpr unsigned reducers = 256;   // threads a block, always
constexpr unsigned in_flight = 4;    // packs that a thread loads before it uses the first
constexpr unsigned flush_after = 8;  // so many additions follow each other at most

// The bytes of a row that a thread takes at once, and of a few rows side by side.
constexpr unsigned row_pack = 16;
constexpr unsigned column_pack(unsigned size) { return size == 1 ? 4 : size == 2 ? 8 : 16; }

// Results are numbered in C order of the axes that are kept. Each is reduced from `length` elements
// in `segments` pieces, which are finished by another launch where there are several. What is added
// to what depends on these numbers alone, not on the device.
struct Reduced {
    unsigned long long x, y;     // y: the other factor of a product, or indices of x
    unsigned long long out;      // 0 where partial results are stored
    unsigned long long partial;  // of the type that is accumulated in, in order
    unsigned long long indices;  // of partial results
    unsigned long long length;
    unsigned units;  // results times segments (times tiles of columns)
    unsigned segments, segment_length;
    unsigned tiles;                   // of columns
    unsigned long long divide;        // the mean: by how many; 0: no mean
    unsigned long long columns;       // of the innermost axis that is kept
    long long row_step, column_step;  // bytes: of x from row to row, of out from column to column
    int joint, log_width;             // 2^log_width threads work on one segment
    int truth;                        // what is joined is whether elements are true
    int x_element, y_element, out_element;
    int kept, reduced;  // axes, the innermost first
    unsigned long long kept_lengths[reduced_axes];
    long long kept_x[reduced_axes], kept_out[reduced_axes];
    unsigned long long reduced_lengths[reduced_axes];
    long long reduced_x[reduced_axes], reduced_y[reduced_axes];
};

}  // namespace cupola::arrays
