// csrc/cpu/exec/matrix.hpp - instructions on matrices: what one is when decoded, and its handlers,
// which are the same for every instruction set of the host.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/exec/code.hpp"
#include "cpu/exec/matrix_tile.hpp"
#include "ptx/matrix.hpp"

namespace cupola::cpu::exec {

// Where in the matrices of an instruction the elements are that each lane holds.
struct MatrixLayout {
    struct Part {
        unsigned rows = 0, columns = 0;
        unsigned count = 0, bits = 0;   // of what a lane holds
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

// Where an instruction's registers lie; in Code::imm is which one of the kernel's this is.
struct MatrixOperation {
    ptx::MatrixForm form{};
    std::shared_ptr<const MatrixLayout> layout;  // of what is multiplied
    std::shared_ptr<const WholeLayout> whole;    // of what is loaded or stored
    std::vector<std::int32_t> a, b, c, d;
    std::int32_t metadata = 0;  // of a sparse A
    unsigned selector = 0;      // which lanes' metadata count
    // Of a warpgroup: factors in shared memory, and whether (a predicate) D is added to.
    std::int32_t descriptor_a = 0, descriptor_b = 0, add = 0;
    bool negate_a = false, negate_b = false;
    std::int32_t stride = 0;  // of wmma.load and wmma.store; 0: rows without gaps
    std::int64_t offset = 0;  // to the register that holds the address
    ptx::Space space = ptx::Space::generic;
};

struct MatrixControl {
    Handler multiply, load_rows, store_rows, transpose, load_whole, store_whole, multiply_group;
};
extern const MatrixControl matrix_control;

// matrix_memory.cpp
const Code* load_rows(const Code* ip, Warp& w, std::byte* r);
const Code* store_rows(const Code* ip, Warp& w, std::byte* r);
const Code* load_whole(const Code* ip, Warp& w, std::byte* r);
const Code* store_whole(const Code* ip, Warp& w, std::byte* r);
// matrix_group.cpp
const Code* multiply_group(const Code* ip, Warp& w, std::byte* r);

const MatrixOperation& matrix_operation(const Code* ip, Warp& w);

// The whole warp has to come; where lanes are missing, those that are here wait for them.
bool whole_warp(Warp& w);

// matrix_fragment.cpp: elements as bits, row by row; single bits as words of 32.
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

// An element's place in its matrix.
struct Place {
    unsigned row, column;
};
// Of the n-th element that a lane holds.
Place place_of(const ptx::MatrixForm& form, ptx::Matrix of, unsigned lane, unsigned n);
// How many elements a lane holds, and the bits of one.
unsigned held_by_lane(const ptx::MatrixForm& form, ptx::Matrix of);
unsigned element_bits(const ptx::MatrixForm& form, ptx::Matrix of);
// Where the four bits are that tell of a chunk of a sparse row.
struct MetadataPlace {
    unsigned lane, bit;
};
MetadataPlace metadata_place(const ptx::MatrixForm& form, unsigned selector, unsigned row,
                             unsigned chunk);
// Which lanes of four have them: 0 to this.
unsigned most_selector(const ptx::MatrixForm& form);
std::uint64_t read_element(const std::byte* r, const std::vector<std::int32_t>& registers,
                           unsigned lane, unsigned n, unsigned bits);
void write_element(std::byte* r, const std::vector<std::int32_t>& registers, unsigned lane,
                   unsigned n, unsigned bits, std::uint64_t value);

// A matrix between registers and its elements. Those of m8n8k4's four products stand below each
// other.
void gather(const MatrixLayout::Part& part, const std::vector<std::int32_t>& registers,
            const std::byte* r, Elements& out);
void scatter(const MatrixLayout::Part& part, const std::vector<std::int32_t>& registers,
             std::uint32_t mask, const Elements& d, std::byte* r);

// The same as words: of elements of up to 32 bits, or of 64.
void gather(const MatrixLayout::Part& part, const std::vector<std::int32_t>& registers,
            const std::byte* r, std::uint32_t* out);
void scatter(const MatrixLayout::Part& part, const std::vector<std::int32_t>& registers,
             std::uint32_t mask, const std::uint32_t* d, std::byte* r);
void gather(const MatrixLayout::Part& part, const std::vector<std::int32_t>& registers,
            const std::byte* r, std::uint64_t* out);
void scatter(const MatrixLayout::Part& part, const std::vector<std::int32_t>& registers,
             std::uint32_t mask, const std::uint64_t* d, std::byte* r);

// What is multiplied. Of a sparse A the elements that are there: each has a row of B to go with it.
struct Factors {
    Elements a, b;
    std::vector<std::uint16_t> chosen;  // [row, element of A]; empty: all of them, in order

    unsigned row_of_b(unsigned row, unsigned n) const {
        return chosen.empty() ? n : chosen[std::size_t{row} * a.columns + n];
    }
};

// Which rows of B the elements of a sparse A go with; A has its size.
void choose_rows(const ptx::MatrixForm& form, const MatrixOperation& op, const std::byte* r,
                 Factors& f);

// matrix_product.cpp: D = A * B + C as the hardware of sm_90 rounds it.
void multiply_matrices(const ptx::MatrixForm& form, const Factors& factors, const Elements& c,
                       Elements& d);
// The same of a dense tile, if the host's instruction set has a product for it. `sums` holds C,
// then D. False: there is none, or it does not have these values, and `sums` is as it was.
bool multiply_words(const ptx::MatrixForm& form, const TileShape& shape, std::uint32_t* a,
                    std::uint32_t* b, std::uint32_t* sums);
bool multiply_words(const ptx::MatrixForm& form, const TileShape& shape, const std::uint64_t* a,
                    const std::uint64_t* b, std::uint64_t* sums);
// matrix_float.cpp: f16 and f32 sums; D has its size.
void multiply_floats(const ptx::MatrixForm& form, const Factors& factors, const Elements& c,
                     Elements& d);
bool multiply_float_words(const ptx::MatrixForm& form, const TileShape& shape,
                          const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* sums);

}  // namespace cupola::cpu::exec
