// csrc/cpu/analysis/affine_step.cpp - the step of one operation's result between lanes.
#include <algorithm>

#include "cpu/analysis/kernel_analysis.hpp"

namespace cupola::cpu::compiler {

namespace {

// The largest step that is followed: with larger steps, accesses are never contiguous.
constexpr std::int64_t max_step = 1 << 12;
constexpr std::int64_t half_warp = interpreter::lanes / 2;

enum class Rule : std::uint8_t {
    none,
    copy,
    sum,
    difference,
    product,
    product_sum,
    shift,
    quotient,   // monotonic in its first source, but grows more slowly: the step is nearly always 0
    remainder,  // has the step of its first source, except at few values
    clamp,
    bit_and,
    bit_or,
    insert,  // bits of the first source replace a field of the second
};

Rule rule_of(const interpreter::Origin& origin) {
    using ptx::Opcode;
    const bool low =
        static_cast<ptx::Part>(ptx::field::part.get(origin.key.modifiers)) != ptx::Part::hi;
    if (ptx::field::sat.get(origin.key.modifiers) != 0) return Rule::none;
    switch (origin.form.opcode()) {
        case Opcode::mov:
            return Rule::copy;
        case Opcode::cvt:
            return is_integer_or_bits(origin.key.type2) ? Rule::copy : Rule::none;
        case Opcode::add:
            return Rule::sum;
        case Opcode::sub:
            return Rule::difference;
        case Opcode::mul:
            return low ? Rule::product : Rule::quotient;
        case Opcode::mul_wide:
            return Rule::product;
        case Opcode::mad:
            return low ? Rule::product_sum : Rule::none;
        case Opcode::mad_wide:
            return Rule::product_sum;
        case Opcode::shl:
            return Rule::shift;
        case Opcode::div:
        case Opcode::shr:
            return Rule::quotient;
        case Opcode::rem:
            return Rule::remainder;
        case Opcode::min:
        case Opcode::max:
            return Rule::clamp;
        case Opcode::and_:
            return Rule::bit_and;
        case Opcode::or_:
        case Opcode::xor_:
            return Rule::bit_or;
        case Opcode::bfi:
            return Rule::insert;
        default:
            return Rule::none;
    }
}

// Whether the lanes of an affine value agree in all bits up to the highest set bit of `bits`, which
// is not negative.
bool share_low_bits(std::int64_t step, std::int64_t bits) {
    std::int64_t above = 1;
    while (above <= bits) above *= 2;
    return step % above == 0;
}

}  // namespace

bool KernelAnalysis::affine_step(std::uint32_t n, const std::vector<std::int64_t>& steps,
                                 AffineStep& result) const {
    const OpEffects& s = this->ops[n];
    // Operations of other kinds may have no instruction form.
    if (s.kind != Kind::lanes) return false;
    if (!is_integer_or_bits(s.origin.key.type)) return false;
    std::size_t source = 0;
    bool narrow = false;  // a 16-bit result, which is followed only if it is uniform
    for (const Access& access : s.accesses) {
        const bool rises = !access.write && steps[source++] != 0;
        if (access.bytes != 4 && access.bytes != 8 && (access.bytes != 2 || rises)) return false;
        narrow |= access.write && access.bytes == 2;
    }
    // The value of a constant operand.
    const auto known = [&](std::size_t k, std::int64_t& value) {
        const Access& access = s.accesses[k + 1];
        const Register* r = at(access.offset);
        if (access.offset == 0) value = 0;
        if (r && r->constant)
            value = access.bytes == 8 ? static_cast<std::int64_t>(r->value)
                                      : static_cast<std::int32_t>(r->value);
        return access.offset == 0 || (r && r->constant && value >= -max_step && value <= max_step);
    };
    std::int64_t& step = result.step;
    const auto product = [&](std::size_t a, std::size_t b) {
        std::int64_t value = 0;
        if (steps[a] == 0 && steps[b] == 0) {
            step = 0;
        } else if (steps[b] == 0 && known(b, value)) {
            step = steps[a] * value;
        } else if (steps[a] == 0 && known(a, value)) {
            step = steps[b] * value;
        } else {
            return false;
        }
        return true;
    };
    result = {};
    const Rule rule = rule_of(s.origin);
    const bool uniform =
        std::all_of(steps.begin(), steps.end(), [](std::int64_t each) { return each == 0; });
    if (uniform && (rule == Rule::none || rule >= Rule::quotient)) {
        result.proof = Proof::uniform;
        return true;
    }
    std::int64_t value = 0;
    switch (rule) {
        case Rule::none:
            return false;
        case Rule::copy:
            step = steps[0];
            break;
        case Rule::sum:
            step = steps[0] + steps[1];
            break;
        case Rule::difference:
            step = steps[0] - steps[1];
            break;
        case Rule::product:
            if (!product(0, 1)) return false;
            break;
        case Rule::product_sum:
            if (!product(0, 1)) return false;
            step += steps[2];
            break;
        case Rule::shift:
            if (steps[1] != 0 || (steps[0] != 0 && (!known(1, value) || value < 0 || value > 12)))
                return false;
            step = steps[0] * (std::int64_t{1} << value);
            break;
        case Rule::quotient:
        case Rule::remainder:
            if (steps[1] != 0) return false;
            step = rule == Rule::quotient ? 0 : steps[0];
            result.proof = Proof::endpoints;
            break;
        case Rule::clamp:
            if (steps[0] != 0 && steps[1] != 0) return false;
            step = steps[0] + steps[1];
            result.proof = Proof::endpoints;
            break;
        case Rule::bit_and: {
            const std::size_t mask = steps[1] == 0 ? 1 : 0;
            if (steps[mask] != 0) return false;
            step = steps[1 - mask];
            if (!known(mask, value) || value >= 0) {
                result.proof = Proof::low_bits;
                break;
            }
            if (share_low_bits(step, ~value)) break;
            // Rounds down to a multiple of a power of two, as signed `%` does. The result is mostly
            // the same for the lanes of half a warp.
            if ((~value & (~value + 1)) != 0 || step * half_warp > -value) return false;
            step = 0;
            result.proof = Proof::endpoints;
            break;
        }
        case Rule::bit_or: {
            const std::size_t bits = steps[1] == 0 ? 1 : 0;
            step = steps[1 - bits];
            if (steps[bits] != 0 || !known(bits, value) || value < 0 ||
                !share_low_bits(step, value))
                return false;
            break;
        }
        case Rule::insert: {
            std::int64_t length = 0;
            if (steps[2] != 0 || steps[3] != 0 || !known(2, value) || !known(3, length) ||
                value < 0 || value > 12 || length <= 0)
                return false;
            step = steps[0] * (std::int64_t{1} << value) + steps[1];
            result.proof = Proof::field;
            break;
        }
    }
    return step >= -max_step && step <= max_step && (step == 0 || !narrow);
}

const Register* KernelAnalysis::affine_quotient(std::uint32_t n) const {
    const OpEffects& op = ops[n];
    if (op.kind != Kind::lanes || op.guarded || !is_integer_or_bits(op.origin.key.type))
        return nullptr;
    const ptx::Opcode opcode = op.origin.form.opcode();
    const bool divides = opcode == ptx::Opcode::div || opcode == ptx::Opcode::rem;
    const Register* r = divides ? at(op.accesses[0].offset) : nullptr;
    return r && r->bytes >= 4 && r->is_affine && !r->uniform ? r : nullptr;
}

}  // namespace cupola::cpu::compiler
