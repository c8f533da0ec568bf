// csrc/cpu/interpreter/matrix.hpp - matrix instructions: decoded form and handlers.
//
// Handlers are shared by all instruction sets.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/isa/code.hpp"
#include "cpu/isa/matrix_tile.hpp"
#include "ptx/matrix.hpp"

namespace cupola::cpu::interpreter {

// For each lane, the positions of its elements in the instruction's matrices.
struct MatrixLayout {
    struct Part {
        unsigned rows = 0, columns = 0;
        unsigned count = 0, bits = 0;   // of a lane's elements
        std::vector<std::uint16_t> at;  // [n * lanes + lane]: row * columns + column
        unsigned repeated = 0;          // registers whose elements lie in later ones, too
    };
    Part a, b, c, d;
};
std::shared_ptr<const MatrixLayout> layout_of(const ptx::MatrixForm& form);

// How a whole matrix is loaded or stored: accesses of `bits`, `count` in each lane, and where each
// begins. Nibbles lie eight to an access, single bits 32.
struct WholeLayout {
    unsigned bits = 0, count = 0;
    std::vector<std::uint16_t> row, column;  // [n * lanes + lane]
    unsigned last_row = 0, last_column = 0;
    unsigned distinct = 0;  // registers; later ones have the same elements again
};
WholeLayout whole_layout_of(const ptx::MatrixForm& form);

// The registers of an instruction. DecodedOp::imm is its index in the kernel's list.
struct MatrixOperation {
    ptx::MatrixForm form{};
    std::shared_ptr<const MatrixLayout> layout;  // of the factors
    std::shared_ptr<const WholeLayout> whole;    // of a matrix in memory
    std::vector<std::int32_t> a, b, c, d;
    std::int32_t metadata = 0;  // sparse A: register
    unsigned selector = 0;      // which lanes' metadata the instruction uses
    // wgmma: descriptors of the factors in shared memory, and the predicate that enables
    // accumulation.
    std::int32_t descriptor_a = 0, descriptor_b = 0, add = 0;
    bool negate_a = false, negate_b = false;
    // Where the scale factors of a factor are: the register that has them, and the registers that
    // select its byte and its lanes.
    struct Scales {
        std::int32_t words = 0, byte = 0, lanes = 0;
    } scales_a, scales_b;
    std::int32_t stride = 0;  // wmma.load and wmma.store: register; 0: rows are contiguous
    std::int64_t offset = 0;  // added to the address register
    ptx::Space space = ptx::Space::generic;
};

struct MatrixControl {
    Handler multiply, load_rows, store_rows, transpose, load_whole, store_whole, multiply_group,
        wait_group;
    Handler commit_group;  // without an effect
};
extern const MatrixControl matrix_control;

// matrix_memory.cpp
const DecodedOp* load_rows(const DecodedOp* ip, Warp& w, std::byte* r);
const DecodedOp* store_rows(const DecodedOp* ip, Warp& w, std::byte* r);
const DecodedOp* load_whole(const DecodedOp* ip, Warp& w, std::byte* r);
const DecodedOp* store_whole(const DecodedOp* ip, Warp& w, std::byte* r);
// matrix_group.cpp
const DecodedOp* multiply_group(const DecodedOp* ip, Warp& w, std::byte* r);
const DecodedOp* wait_group(const DecodedOp* ip, Warp& w, std::byte* r);
const DecodedOp* commit_group(const DecodedOp* ip, Warp& w, std::byte* r);

const MatrixOperation& matrix_operation(const DecodedOp* ip, Warp& w);

// False while lanes of the warp are missing; the present lanes must then wait.
bool whole_warp(Warp& w);

// matrix_fragment.cpp: elements as bits, in row order; single bits as 32-bit words.
struct Elements {
    unsigned rows = 0, columns = 0;
    std::vector<std::uint64_t> bits;

    void resize(unsigned r, unsigned c) {
        rows = r;
        columns = c;
        bits.assign(std::size_t{r} * c, 0);
    }
    std::uint64_t& at(unsigned r, unsigned c) { return bits[std::size_t{r} * columns + c]; }
    std::uint64_t at(unsigned r, unsigned c) const { return bits[std::size_t{r} * columns + c]; }
};

// Position of an element in its matrix.
struct Place {
    unsigned row, column;
};
// Position of the n-th element of a lane.
Place place_of(const ptx::MatrixForm& form, ptx::Matrix of, unsigned lane, unsigned n);
// The number of elements that a lane has, and the bits of an element.
unsigned held_by_lane(const ptx::MatrixForm& form, ptx::Matrix of);
unsigned element_bits(const ptx::MatrixForm& form, ptx::Matrix of);
// Where the four metadata bits of a chunk of a sparse row are.
struct MetadataPlace {
    unsigned lane, bit;
};
MetadataPlace metadata_place(const ptx::MatrixForm& form, unsigned selector, unsigned row,
                             unsigned chunk);
// The largest sparsity selector. A selector names lanes in each group of four.
unsigned max_selector(const ptx::MatrixForm& form);
std::uint64_t read_element(const std::byte* r, const std::vector<std::int32_t>& registers,
                           unsigned lane, unsigned n, unsigned bits);
void write_element(std::byte* r, const std::vector<std::int32_t>& registers, unsigned lane,
                   unsigned n, unsigned bits, std::uint64_t value);

// Between registers and the elements of a matrix. m8n8k4's four matrices are stacked by rows.
void gather(const MatrixLayout::Part& part, const std::vector<std::int32_t>& registers,
            const std::byte* r, Elements& out);
void scatter(const MatrixLayout::Part& part, const std::vector<std::int32_t>& registers,
             std::uint32_t mask, const Elements& d, std::byte* r);

// As above, for elements as words: 32 bits for elements of up to 32 bits, or 64 bits.
void gather(const MatrixLayout::Part& part, const std::vector<std::int32_t>& registers,
            const std::byte* r, std::uint32_t* out);
void scatter(const MatrixLayout::Part& part, const std::vector<std::int32_t>& registers,
             std::uint32_t mask, const std::uint32_t* d, std::byte* r);
void gather(const MatrixLayout::Part& part, const std::vector<std::int32_t>& registers,
            const std::byte* r, std::uint64_t* out);
void scatter(const MatrixLayout::Part& part, const std::vector<std::int32_t>& registers,
             std::uint32_t mask, const std::uint64_t* d, std::byte* r);

// The two factors. A sparse A has its stored elements only, and each names a row of B.
struct Factors {
    Elements a, b;
    std::vector<std::uint16_t> chosen;  // [row, element of A]: row of B; empty: in order
    // Bits of the scale factors: [row of A or column of B, chunk of its elements].
    std::vector<std::uint8_t> scales_a, scales_b;

    unsigned row_of_b(unsigned row, unsigned n) const {
        return chosen.empty() ? n : chosen[std::size_t{row} * a.columns + n];
    }
};

// The matrices of multiply_matrices(). Each thread keeps one, so that an instruction allocates
// nothing after the first of its size.
struct MatrixProduct {
    Factors factors;
    Elements c, d;

    static MatrixProduct& of_thread();
};

// A chunk of a row of a sparse A stores half of its elements: two of four, four of eight in pairs
// (elements of 4 bits), or one of two (elements of 32 bits). This is a chunk's number of elements.
unsigned sparse_chunk(ptx::Element a);
// Finds the rows of B for the elements that a chunk stores, from four bits of metadata.
// `first_row`: the row of B for the chunk's first element.
void choose_chunk(ptx::Element a, std::uint32_t metadata, unsigned first_row, std::uint16_t* to);

// Finds the row of B for each element of a sparse A, whose size is set.
void choose_rows(const ptx::MatrixForm& form, const MatrixOperation& op, const std::byte* r,
                 Factors& f);

// Reads the scale factors of both factors.
void gather_scales(const MatrixOperation& op, const std::byte* r, Factors& f);

// matrix_product.cpp: D = A * B + C, rounded as on sm_90.
void multiply_matrices(const ptx::MatrixForm& form, const Factors& factors, const Elements& c,
                       Elements& d);
// The same of a dense tile, if the host's instruction set has a product for it. `sums` holds C,
// then D. False: there is none, or it does not have these values, and `sums` is as it was.
bool multiply_words(const ptx::MatrixForm& form, const TileShape& shape, std::uint32_t* a,
                    std::uint32_t* b, std::uint32_t* sums);
bool multiply_words(const ptx::MatrixForm& form, const TileShape& shape, const std::uint64_t* a,
                    const std::uint64_t* b, std::uint64_t* sums);
// matrix_float.cpp: f16 and f32 sums; the size of D is set.
void multiply_floats(const ptx::MatrixForm& form, const Factors& factors, const Elements& c,
                     Elements& d);
bool multiply_float_words(const ptx::MatrixForm& form, const TileShape& shape,
                          const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* sums);

}  // namespace cupola::cpu::interpreter
