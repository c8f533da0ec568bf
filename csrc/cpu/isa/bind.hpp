// csrc/cpu/isa/bind.hpp - selects the handler of a decoded instruction.
//
// Walks the types and modifiers of a table row at compile time.
#pragma once

#include "cpu/isa/handler_table.hpp"
#include "cpu/isa/lanes.hpp"
#include "cpu/isa/vector.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// Applies Op to both halves of a packed register.
template <class Op>
struct Pairwise {
    template <class M>
    static constexpr bool mixes = mixes_widths<Op, M>;
    template <class M, class T, unsigned N, class... V>
    static void lane(ShortVector<T, N>& d, V... from) {
        Op::template lane<M>(d, from...);
    }
    template <class M, class T>
    static void lane(Pair<T>& d, Pair<T> a) {
        Op::template lane<M>(d.low, a.low);
        Op::template lane<M>(d.high, a.high);
    }
    template <class M, class T>
    static void lane(Pair<T>& d, Pair<T> a, Pair<T> b) {
        Op::template lane<M>(d.low, a.low, b.low);
        Op::template lane<M>(d.high, a.high, b.high);
    }
    template <class M, class T>
    static void lane(Pair<T>& d, Pair<T> a, Pair<T> b, Pair<T> c) {
        Op::template lane<M>(d.low, a.low, b.low, c.low);
        Op::template lane<M>(d.high, a.high, b.high, c.high);
    }
};

// Applies Op to the four bytes of a register.
template <class Op>
struct Fourwise {
    template <class M, class T, class... V>
    static void lane(Four<T>& d, V... from) {
        for (unsigned i = 0; i < 4; ++i) Op::template lane<M>(d.part[i], from.part[i]...);
    }
};

struct Lowered {};  // rows that the decoder composes of others

template <class Sem, class = void>
struct HasHandler : std::false_type {};
template <class Sem>
struct HasHandler<Sem, std::void_t<typename Sem::Whole>> : std::true_type {};

template <class Row, std::size_t J, std::size_t J2, std::size_t A, Bits B>
Handler by_axis(const Key& key);

template <class Row, std::size_t J, std::size_t J2, std::size_t A, Bits B, std::size_t... C>
Handler by_choice(const Key& key, std::index_sequence<C...>) {
    const unsigned value = Row::axis(A).field.get(key.modifiers);
    Handler found = nullptr;
    // A missing rounding is the first one: see find_handler() of ../origin.cpp.
    if constexpr (Row::axis(A).optional && !Row::axis(A).rounds()) {
        if (value == 0) return by_axis<Row, J, J2, A + 1, B>(key);
    }
    (void)((Row::axis(A).choices[C].value == value &&
            (found = by_axis<Row, J, J2, A + 1, B | Row::choice(A, C)>(key), true)) ||
           ...);
    return found;
}

template <class Row, std::size_t J, std::size_t J2, std::size_t A, Bits B>
Handler by_axis(const Key& key) {
    if constexpr (A == Row::form().slots.count) {
        using M = Mods<Row::form().types.count ? Row::form().types.list[J] : Type::none,
                       Row::form().types2.count ? Row::form().types2.list[J2] : Type::none, B>;
        using Sem = typename Row::Sem;
        if constexpr (HasHandler<Sem>::value)
            return Sem::template handler<M>(key);
        else
            return Map<Sem, M, Row, std::make_index_sequence<Row::form().operands.count>>::handler;
    } else if constexpr (!Row::axis(A).fixed) {
        return by_axis<Row, J, J2, A + 1, B>(key);
    } else {
        return by_choice<Row, J, J2, A, B>(key, std::make_index_sequence<Row::axis(A).count>());
    }
}

template <class Row, std::size_t J, std::size_t... J2>
Handler by_type2(const Key& key, std::index_sequence<J2...>) {
    Handler found = nullptr;
    (void)((Row::form().types2.list[J2] == key.type2 &&
            (found = by_axis<Row, J, J2, 0, 0>(key), true)) ||
           ...);
    return found;
}

template <class Row, std::size_t... J>
Handler by_type(const Key& key, std::index_sequence<J...>) {
    constexpr std::size_t count2 = Row::form().types2.count ? Row::form().types2.count : 1;
    Handler found = nullptr;
    (void)((Row::form().types.list[J] == key.type &&
            (found = by_type2<Row, J>(key, std::make_index_sequence<count2>()), true)) ||
           ...);
    return found;
}

template <class Row>
Handler bind(const Key& key) {
    constexpr std::size_t count = Row::form().types.count ? Row::form().types.count : 1;
    return by_type<Row>(key, std::make_index_sequence<count>());
}

using Finder = Handler (*)(const Key&);
template <class Row>
constexpr Finder finder() {
    if constexpr (std::is_same_v<typename Row::Sem, Lowered>)
        return nullptr;
    else
        return &bind<Row>;
}

template <class S, const ptx::Form* Rows, std::size_t I>
struct RowOf {
    using Sem = S;
    static constexpr const ptx::Form& form() { return Rows[I]; }
    static constexpr const ptx::ModifierSlot& axis(std::size_t n) { return *form().slots.list[n]; }
    static constexpr Bits choice(std::size_t n, std::size_t c) {
        return axis(n).field.put(axis(n).choices[c].value);
    }
};

template <const ptx::Form* Rows, class Index, class... S>
struct ChapterOf;
template <const ptx::Form* Rows, std::size_t... I, class... S>
struct ChapterOf<Rows, std::index_sequence<I...>, S...> {
    static Handler find(unsigned row, const Key& key) {
        static constexpr Finder finders[] = {finder<RowOf<S, Rows, I>>()...};
        static constexpr bool by_lane[] = {!HasHandler<S>::value && !std::is_same_v<S, Lowered>...};
        if (key.by_lane) *key.by_lane = by_lane[row];
        return finders[row] ? finders[row](key) : nullptr;
    }
};
template <const ptx::Form* Rows, class... S>
using ChapterBinding = ChapterOf<Rows, std::make_index_sequence<sizeof...(S)>, S...>;

}  // namespace cupola::cpu::CUPOLA_ISA
