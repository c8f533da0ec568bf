// csrc/cpu/interpreter/operand.cpp - decodes operands to offsets in the register file.
#include <cstring>

#include "cpu/interpreter/control.hpp"
#include "cpu/interpreter/decode.hpp"

namespace cupola::cpu::interpreter {
namespace {

unsigned width_class(unsigned width) {
    return width <= 2 ? 1 : width == 4 ? 2 : width == 8 ? 3 : 4;
}

// An immediate's bits in a type.
std::uint64_t bits_in(const ptx::Operand& o, Type type) {
    const auto bits = static_cast<std::uint64_t>(o.value);
    if (o.kind == Kind::real && type == Type::f32) {
        double d;
        std::memcpy(&d, &bits, sizeof d);
        const auto f = static_cast<float>(d);
        std::uint32_t low;
        std::memcpy(&low, &f, sizeof low);
        return low;
    }
    if (o.kind == Kind::single && type == Type::f64) {
        float f;
        const auto low = static_cast<std::uint32_t>(bits);
        std::memcpy(&f, &low, sizeof f);
        const double d = f;
        std::uint64_t out;
        std::memcpy(&out, &d, sizeof out);
        return out;
    }
    const unsigned width = ptx::bytes_of(type);
    return width >= 8 ? bits : bits & ((std::uint64_t{1} << 8 * width) - 1);
}

}  // namespace

DecodedOp& Decoder::emit(BoundHandler run) {
    DecodedOp code;
    run.bind(code);
    code.line = line_;
    kernel_->code.push_back(code);
    return kernel_->code.back();
}

DecodedOp& Decoder::emit(BoundHandler run, std::int32_t d, std::int32_t a, std::int32_t b,
                         std::int32_t c) {
    DecodedOp& code = emit(run);
    code.op[0] = d;
    code.op[1] = a;
    code.op[2] = b;
    code.op[3] = c;
    return code;
}

std::int32_t Decoder::allocate(unsigned width) {
    const std::uint32_t at = file_;
    const std::uint32_t bytes = width * lanes;
    file_ += bytes < 64 ? 64 : bytes;
    if (file_ > (1u << 30)) fail(line_, "a kernel has too many registers");
    return static_cast<std::int32_t>(at);
}

std::int32_t Decoder::allocate_predicate() {
    if (predicates_left_ == 0) {
        predicate_file_ = static_cast<std::uint32_t>(allocate(2));
        predicates_left_ = 16;
    }
    --predicates_left_;
    return static_cast<std::int32_t>(predicate_file_ + 4 * predicates_left_);
}

std::int32_t Decoder::temporary(unsigned width) {
    const unsigned c = width_class(width);
    if (temporaries_used_[c] == temporaries_[c].size())
        temporaries_[c].push_back(allocate(width < 2 ? 2 : width));
    return temporaries_[c][temporaries_used_[c]++];
}

std::int32_t Decoder::temporary_predicate() {
    if (temporaries_used_[0] == temporaries_[0].size())
        temporaries_[0].push_back(allocate_predicate());
    return temporaries_[0][temporaries_used_[0]++];
}

std::int32_t Decoder::reg(std::uint32_t index) {
    std::int32_t& offset = part_->registers[index];
    if (offset == 0) {
        const Type type = f_->registers[index];
        offset = type == Type::pred ? allocate_predicate() : allocate(ptx::bytes_of(type));
    }
    return offset;
}

std::int32_t Decoder::constant(unsigned width, std::uint64_t value, bool placed) {
    const auto [at, fresh] = constants_.emplace(std::make_tuple(width, value, placed), 0);
    if (fresh) {
        at->second = width == 0 ? allocate_predicate() : allocate(width);
        kernel_->constants.push_back({at->second, width, value, placed});
    }
    return at->second;
}

std::int32_t Decoder::special(unsigned which, unsigned width) {
    const auto [at, fresh] = specials_.emplace(which, 0);
    if (fresh) {
        at->second = width == 0 ? allocate_predicate() : allocate(width);
        kernel_->specials.push_back({which, at->second});
    }
    return at->second;
}

bool Decoder::is_formal(std::uint32_t variable) const {
    return f_->entry && variable < f_->formals.size();
}

std::uint64_t Decoder::variable_address(std::uint32_t variable) const {
    const ptx::Variable& v = module_.variables[variable];
    if (v.space == ptx::Space::shared) return shared_at_.at(variable);
    if (v.external) fail(line_, "extern variable '" + v.name + "' is not defined", true);
    return placement_.addresses[variable];
}

// Addresses in shared memory are the same in every process.
std::int32_t Decoder::address_of(std::uint32_t variable, std::uint64_t offset, unsigned width) {
    const std::uint64_t at = variable_address(variable) + offset;
    return constant(width, width == 4 ? at & 0xffffffffu : at,
                    module_.variables[variable].space != ptx::Space::shared);
}

std::int32_t Decoder::frame_address(std::uint32_t variable, std::int64_t offset, unsigned width) {
    const std::uint64_t at = f_->frame[variable].offset + static_cast<std::uint64_t>(offset);
    if (is_formal(variable)) {
        const std::int32_t base = special(static_cast<unsigned>(Hidden::parameter_base), 8);
        if (width != 8) fail(line_, "the address of a parameter needs a register of 64 bits");
        const std::int32_t t = temporary(8);
        emit("add.u64", t, base, constant(8, at));
        return t;
    }
    if (f_->entry) return constant(width, width == 4 ? at & 0xffffffffu : at);
    const std::int32_t t = temporary(width);
    if (width == 4) {
        emit("add.u32", t, kernel_->stack_pointer, constant(4, at & 0xffffffffu));
    } else {
        emit("cvt.u64.u32", t, kernel_->stack_pointer);
        emit("add.u64", t, t, constant(8, at));
    }
    return t;
}

// The offset of 32 lanes that hold the operand as `type`.
std::int32_t Decoder::source(const ptx::Operand& o, Type type) {
    using S = ptx::Special;
    const unsigned width = ptx::bytes_of(type);
    switch (o.kind) {
        case Kind::reg:
            return reg(o.index);
        case Kind::integer:
        case Kind::real:
        case Kind::single:
            return constant(width, bits_in(o, type));
        case Kind::variable:
            return address_of(o.index, static_cast<std::uint64_t>(o.value), width);
        case Kind::frame:
            return frame_address(o.index, o.value, width);
        case Kind::function:
            if (!module_.functions[o.index].defined)
                fail(line_, "function '" + module_.functions[o.index].name + "' is not defined",
                     true);
            return constant(width, placement_.functions[o.index], true);
        case Kind::special:
            break;
        default:
            fail(line_, "an operand cannot be read");
    }
    if (static_cast<S>(o.index) == S::warp_size) return constant(width, 32);
    const unsigned own = static_cast<S>(o.index) == S::clock64 ||
                                 static_cast<S>(o.index) == S::globaltimer ||
                                 static_cast<S>(o.index) == S::gridid ||
                                 static_cast<S>(o.index) == S::current_graph_exec ||
                                 static_cast<S>(o.index) == S::performance64
                             ? 8
                             : 4;
    BoundHandler read;
    switch (static_cast<S>(o.index)) {
        case S::clock:
            read = control.read_clock;
            break;
        case S::clock_hi:
            read = control.read_clock_high;
            break;
        case S::clock64:
            read = control.read_clock64;
            break;
        case S::globaltimer:
            read = control.read_timer;
            break;
        case S::globaltimer_lo:
            read = control.read_timer_low;
            break;
        case S::globaltimer_hi:
            read = control.read_timer_high;
            break;
        default:
            break;
    }
    std::int32_t at;
    if (read) {
        at = temporary(own);
        emit(read, at);
    } else {
        at = special(o.index, own);
    }
    if (own == width) return at;
    const std::int32_t t = temporary(width);
    resize(t,
           width == 2   ? Type::u16
           : width == 4 ? Type::u32
           : width == 8 ? Type::u64
                        : Type::u8,
           at, own == 8 ? Type::u64 : Type::u32);
    return t;
}

void Decoder::resize(std::int32_t to, Type to_type, std::int32_t from, Type from_type) {
    emit("cvt." + std::string(name_of(to_type)) + "." + std::string(name_of(from_type)), to, from);
}

namespace {
Type unsigned_of(unsigned width) {
    return width == 1 ? Type::u8 : width == 2 ? Type::u16 : width == 4 ? Type::u32 : Type::u64;
}
}  // namespace

// A source of ld, st or cvt may be wider than the type: its low part is used.
std::int32_t Decoder::relaxed_source(const ptx::Operand& o, Type type) {
    const unsigned width = ptx::bytes_of(type);
    if (o.kind != Kind::reg || ptx::bytes_of(o.type) == width) return source(o, type);
    const std::int32_t t = temporary(width);
    resize(t, unsigned_of(width), reg(o.index), unsigned_of(ptx::bytes_of(o.type)));
    return t;
}

std::int32_t Decoder::predicate(const ptx::Operand& o) {
    if (o.kind == Kind::integer) return constant(0, (o.value != 0) != o.negated ? all_lanes : 0);
    const std::int32_t at = o.kind == Kind::special ? special(o.index, 0) : reg(o.index);
    if (!o.negated) return at;
    const std::int32_t t = temporary_predicate();
    emit("not.pred", t, at);
    return t;
}

}  // namespace cupola::cpu::interpreter
