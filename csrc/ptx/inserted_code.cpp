// csrc/ptx/inserted_code.cpp - instructions that the text does not contain.
#include "ptx/inserted_code.hpp"

#include "ptx/operand_check.hpp"

namespace cupola::ptx {

namespace {

Operand place_of(std::uint32_t frame, std::uint64_t offset) {
    Operand o;
    o.kind = Operand::Kind::memory;
    o.base = Operand::Kind::frame;
    o.index = frame;
    o.value = static_cast<std::int64_t>(offset);
    return o;
}

constexpr std::string_view plain(unsigned bytes, bool load) {
    switch (bytes) {
        case 1:
            return load ? "ld.param.b8" : "st.param.b8";
        case 2:
            return load ? "ld.param.b16" : "st.param.b16";
        case 4:
            return load ? "ld.param.b32" : "st.param.b32";
        case 8:
            return load ? "ld.param.b64" : "st.param.b64";
        default:
            return load ? "ld.param.b128" : "st.param.b128";
    }
}

// mad.f32 needs a rounding modifier since PTX 3.2, and for sm_20 or newer (9.7.3.7). Without one,
// it rounds to nearest.
std::string with_rounding(std::string_view opcode, const Module& module) {
    const bool old = module.version < 32 || module.target.number < 20;
    if (old && opcode.substr(0, 4) == "mad.")
        for (const char* end : {".f32", ".sat.f32"})
            for (const char* flush : {"", ".ftz"})
                if (opcode.substr(3) == std::string(flush) + end)
                    return "mad.rn" + std::string(opcode.substr(3));
    return std::string(opcode);
}

}  // namespace

const std::vector<Candidate>& InsertedCode::candidates(std::string_view opcode) {
    auto known = matched_.find(opcode);
    if (known == matched_.end())
        known = matched_.emplace(opcode, match(with_rounding(opcode, module_))).first;
    return known->second;
}

void InsertedCode::emit(Function& f, const Instruction& like, std::string_view opcode,
                        const std::vector<Operand>& operands) {
    const CheckContext here{module_, f, operands.data(),
                            static_cast<std::uint32_t>(operands.size())};
    for (const Candidate& c : candidates(opcode)) {
        if (!check_operands(c, here).empty()) continue;
        Instruction i;
        i.form = c.form;
        i.type = c.type;
        i.type2 = c.type2;
        i.modifiers = c.modifiers;
        i.line = like.line;
        i.guard = like.guard;
        i.guard_negated = like.guard_negated;
        i.operand = static_cast<std::uint32_t>(f.operands.size());
        i.operands = here.count;
        f.operands.insert(f.operands.end(), operands.begin(), operands.end());
        f.code.push_back(i);
        return;
    }
    tokens_.fail_line(like.line, "no form of " + std::string(opcode) + " takes these operands");
}

void InsertedCode::move_parameter(Function& f, const Instruction& like, const RegisterParameter& p,
                                  bool load) {
    for (unsigned n = 0; n < p.count; ++n) {
        const Operand r = register_operand(f, p.index + n);
        if (r.type != Type::pred) {
            const unsigned bytes = bytes_of(r.type);
            const Operand place = place_of(p.frame, std::uint64_t{n} * bytes);
            if (load)
                emit(f, like, plain(bytes, true), {r, place});
            else
                emit(f, like, plain(bytes, false), {place, r});
            continue;
        }
        const Operand bit = new_register(f, Type::b32);
        if (load) {
            emit(f, like, "ld.param.b32", {bit, place_of(p.frame, 0)});
            emit(f, like, "setp.ne.u32", {r, bit, integer_operand(0)});
        } else {
            emit(f, like, "selp.b32", {bit, integer_operand(1), integer_operand(0), r});
            emit(f, like, "st.param.b32", {place_of(p.frame, 0), bit});
        }
    }
}

void InsertedCode::store_constant(Function& f, const Instruction& like, std::uint32_t frame,
                                  Type type, const Operand& o) {
    const std::string_view store = o.kind == Operand::Kind::integer ? plain(bytes_of(type), false)
                                   : type == Type::f64              ? "st.param.f64"
                                                                    : "st.param.f32";
    emit(f, like, store, {place_of(frame, 0), o});
}

}  // namespace cupola::ptx
