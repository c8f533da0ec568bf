// csrc/cpu/interpreter/decode_texture.cpp - decodes texture and surface instructions.
#include "cpu/interpreter/decode.hpp"
#include "cpu/interpreter/texture.hpp"

namespace cupola::cpu::interpreter {
namespace {

using ptx::OperandConstraint;
using ptx::Type;
using Operand = ptx::Operand;
namespace field = ptx::field;

constexpr TextureOperation texture_rows[] = {
#define FORM(mnemonic, semantics, ...) TextureOperation::semantics,
#include "ptx/table/texture.inc"
#undef FORM
};

Handler texture_handler(TextureOperation operation) {
    const TextureControl& c = texture_control;
    switch (operation) {
        case TextureOperation::QueryTexture:
        case TextureOperation::QueryLevel:
        case TextureOperation::QuerySurface:
            return c.query;
        case TextureOperation::IsTexture:
        case TextureOperation::IsSampler:
        case TextureOperation::IsSurface:
            return c.is_kind;
        case TextureOperation::SurfaceLoad:
            return surface_control.load;
        case TextureOperation::SurfaceStore:
        case TextureOperation::SurfaceStoreTexel:
            return surface_control.store;
        case TextureOperation::SurfaceReduce:
        case TextureOperation::SurfaceReduceTexel:
            return surface_control.reduce;
        default:
            return c.fetch;
    }
}

}  // namespace

// The n-th element of a vector, or the operand itself.
const Operand& Decoder::element(const Operand& o, unsigned n) const {
    return o.kind == Operand::Kind::vector ? f_->operands[o.index + n] : o;
}

std::int32_t Decoder::texture_handle(const Operand& o) {
    if (o.base == Operand::Kind::reg) return reg(o.index);
    const ptx::Variable& v = module_.variables[o.index];
    if (v.external) fail(line_, "extern variable '" + v.name + "' is not defined", true);
    return constant(8, placement_.addresses[o.index], true);
}

void Decoder::texture(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    TextureSite site;
    site.operation = texture_rows[i.form.row()];
    site.geometry = static_cast<ptx::Geometry>(field::mode.get(i.modifiers));
    site.outside = static_cast<ptx::Outside>(field::boolean.get(i.modifiers));
    site.query = static_cast<ptx::Query>(field::operation.get(i.modifiers));
    site.atomic = static_cast<ptx::Atomic>(field::operation.get(i.modifiers));
    site.component = static_cast<std::uint8_t>(field::part.get(i.modifiers));
    site.type = i.type;
    site.integral = i.type2 == Type::s32;
    const unsigned axes = ptx::axes_of(site.geometry), width = ptx::bytes_of(i.type);
    struct Widen {
        std::int32_t to, from;
        Type to_type;
    } widen[4];
    unsigned widened = 0, gradients = 0;
    for (unsigned n = 0; n < form.operands.count; ++n) {
        const Operand& o = operand(i, n);
        switch (form.operands.list[n]) {
            case OperandConstraint::fetched:
            case OperandConstraint::dv:
                site.values =
                    static_cast<std::uint8_t>(o.kind == Operand::Kind::vector ? o.count : 1);
                for (unsigned k = 0; k < site.values && k < 4; ++k) {
                    const Operand& e = element(o, k);
                    site.value[k] = destination(e);
                    if (e.kind != Operand::Kind::reg || ptx::bytes_of(e.type) == width) continue;
                    const unsigned wide = ptx::bytes_of(e.type);
                    widen[widened] = {site.value[k], temporary(width),
                                      wide == 2   ? Type::u16
                                      : wide == 4 ? Type::u32
                                                  : Type::u64};
                    site.value[k] = widen[widened++].from;
                }
                if (o.second != ptx::absent) site.resident = reg(o.second);
                break;
            case OperandConstraint::av:
                site.values =
                    static_cast<std::uint8_t>(o.kind == Operand::Kind::vector ? o.count : 1);
                for (unsigned k = 0; k < site.values && k < 4; ++k)
                    site.value[k] = relaxed_source(element(o, k), i.type);
                break;
            case OperandConstraint::d:
            case OperandConstraint::p:
                site.value[0] = destination(o);
                break;
            case OperandConstraint::a:
                if (site.operation == TextureOperation::QueryLevel)
                    site.level = source(o, Type::b32);
                else
                    site.value[0] = source(o, i.type);
                break;
            case OperandConstraint::a2:
                site.level = source(o, i.type2);
                break;
            case OperandConstraint::aw:
                if (ptx::bytes_of(o.type) != 8)
                    fail(i.line, "expected a texture or surface handle of 64 bits");
                site.handle = reg(o.index);
                break;
            case OperandConstraint::opaque:
                if (site.operation == TextureOperation::QueryTexture &&
                    ptx::asks_sampler(site.query) && module_.independent_samplers)
                    fail(i.line, "separate samplers (texmode_independent) are not supported");
                site.handle = texture_handle(o);
                break;
            case OperandConstraint::texel: {
                if (o.count == 2)
                    fail(i.line, "separate samplers (texmode_independent) are not supported");
                site.handle = texture_handle(o);
                const Operand& at = f_->operands[static_cast<std::size_t>(o.value)];
                const unsigned first = ptx::is_layered(site.geometry) ? 1 : 0;
                const Type type = i.type2 == Type::none ? Type::s32 : i.type2;
                if (first) site.layer = source(element(at, 0), Type::b32);
                for (unsigned k = 0; k < axes; ++k)
                    site.coordinate[k] = source(element(at, first + k), type);
                break;
            }
            case OperandConstraint::gradient:
                for (unsigned k = 0; k < axes; ++k)
                    site.gradient[gradients][k] = source(element(o, k), Type::f32);
                ++gradients;
                break;
            case OperandConstraint::offsets:
                for (unsigned k = 0; k < axes; ++k)
                    site.offset[k] = source(element(o, k), Type::s32);
                break;
            default:
                fail(i.line, "the instruction has an unsupported operand");
        }
    }
    if (site.values > 4) fail(i.line, "vectors of more than 4 elements are not supported");
    if (width * site.values > 16) fail(i.line, "an access has more than 16 bytes");
    DecodedOp& code = emit(texture_handler(site.operation));
    code.imm = static_cast<std::int64_t>(kernel_->textures.size());
    kernel_->textures.push_back(site);
    for (unsigned k = 0; k < widened; ++k)
        resize(widen[k].to, widen[k].to_type, widen[k].from,
               width == 1   ? Type::u8
               : width == 2 ? Type::u16
                            : Type::u32);
}

}  // namespace cupola::cpu::interpreter
