// csrc/cpu/emitted/rows.hpp - rows of the instruction table that are functions of one lane, as
// types.
//
// Emitted code names a row by its instruction group and number.
#pragma once

#include <tuple>

#include "cpu/isa/atomic.hpp"
#include "cpu/isa/bits.hpp"
#include "cpu/isa/compare.hpp"
#include "cpu/isa/convert.hpp"
#include "cpu/isa/integer.hpp"
#include "cpu/isa/memory.hpp"
#include "cpu/isa/real.hpp"
#include "cpu/isa/shuffle.hpp"

namespace cupola::cpu::CUPOLA_ISA {

template <const ptx::Form* Rows, class... S>
struct RowsOf {
    template <std::size_t I>
    using row = RowOf<std::tuple_element_t<I, std::tuple<S...>>, Rows, I>;
};

// Other groups are run by their handlers: see has_row_type() in analysis/describe_operations.cpp.
#define FORM(mnemonic, semantics, ...) , semantics
using IntegerRows = RowsOf<ptx::table::integer
#include "ptx/table/integer.inc"
                           >;
using RealRows = RowsOf<ptx::table::real
#include "ptx/table/real.inc"
                        >;
using CompareRows = RowsOf<ptx::table::compare
#include "ptx/table/compare.inc"
                           >;
using ConvertRows = RowsOf<ptx::table::convert
#include "ptx/table/convert.inc"
                           >;
using MoveRows = RowsOf<ptx::table::move
#include "ptx/table/move.inc"
                        >;
#undef FORM

// The modifiers that lane functions take as template arguments, as bind.hpp selects them.
template <class Row>
constexpr Bits fixed_bits(Bits bits) {
    Bits kept = 0;
    for (std::size_t n = 0; n < Row::form().slots.count; ++n)
        if (Row::axis(n).fixed) kept |= Row::axis(n).field.put(Row::axis(n).field.get(bits));
    return kept;
}
template <class Row, unsigned T, unsigned T2, Bits B>
using ModsOf = Mods<static_cast<Type>(T), static_cast<Type>(T2), fixed_bits<Row>(B)>;
template <class M>
struct AnyNan : M {
    static constexpr bool any_nan = true;
};

}  // namespace cupola::cpu::CUPOLA_ISA
