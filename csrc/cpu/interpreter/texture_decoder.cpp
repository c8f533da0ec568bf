// csrc/cpu/interpreter/texture_decoder.cpp - decodes texture and surface instructions.
#include "cpu/interpreter/texture_decoder.hpp"

#include "cpu/interpreter/texture.hpp"

namespace cupola::cpu::interpreter {
namespace {

using ptx::Operand;

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

std::int32_t TextureDecoder::handle(const Operand& o) {
    return o.base == Kind::reg ? operands_.reg(o.index) : symbols_.address_of(o.index, 0, 8);
}

void TextureDecoder::decode(const ptx::Instruction& i) {
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
        const Operand& o = functions_.operand(i, n);
        switch (form.operands.list[n]) {
            case OperandConstraint::fetched:
            case OperandConstraint::dv:
                site.values = static_cast<std::uint8_t>(o.kind == Kind::vector ? o.count : 1);
                for (unsigned k = 0; k < site.values && k < 4; ++k) {
                    const Operand& e = functions_.element(o, k);
                    site.value[k] = operands_.destination(e);
                    if (e.kind != Kind::reg || ptx::bytes_of(e.type) == width) continue;
                    const unsigned wide = ptx::bytes_of(e.type);
                    widen[widened] = {site.value[k], registers_.temporary(width),
                                      wide == 2   ? Type::u16
                                      : wide == 4 ? Type::u32
                                                  : Type::u64};
                    site.value[k] = widen[widened++].from;
                }
                if (o.second != ptx::absent) site.resident = operands_.reg(o.second);
                break;
            case OperandConstraint::av:
                site.values = static_cast<std::uint8_t>(o.kind == Kind::vector ? o.count : 1);
                for (unsigned k = 0; k < site.values && k < 4; ++k)
                    site.value[k] = operands_.relaxed_source(functions_.element(o, k), i.type);
                break;
            case OperandConstraint::d:
            case OperandConstraint::p:
                site.value[0] = operands_.destination(o);
                break;
            case OperandConstraint::a:
                if (site.operation == TextureOperation::QueryLevel)
                    site.level = operands_.source(o, Type::b32);
                else
                    site.value[0] = operands_.source(o, i.type);
                break;
            case OperandConstraint::a2:
                site.level = operands_.source(o, i.type2);
                break;
            case OperandConstraint::aw:
                if (ptx::bytes_of(o.type) != 8)
                    code_.fail(i.line, "expected a texture or surface handle of 64 bits");
                site.handle = operands_.reg(o.index);
                break;
            case OperandConstraint::opaque:
                if (site.operation == TextureOperation::QueryTexture &&
                    ptx::asks_sampler(site.query) && functions_.module().independent_samplers)
                    code_.fail(i.line, "separate samplers (texmode_independent) are not supported");
                site.handle = handle(o);
                break;
            case OperandConstraint::texel: {
                if (o.count == 2)
                    code_.fail(i.line, "separate samplers (texmode_independent) are not supported");
                site.handle = handle(o);
                const Operand& at =
                    functions_.current().operands[static_cast<std::size_t>(o.value)];
                const unsigned first = ptx::is_layered(site.geometry) ? 1 : 0;
                const Type type = i.type2 == Type::none ? Type::s32 : i.type2;
                if (first) site.layer = operands_.source(functions_.element(at, 0), Type::b32);
                for (unsigned k = 0; k < axes; ++k)
                    site.coordinate[k] = operands_.source(functions_.element(at, first + k), type);
                break;
            }
            case OperandConstraint::gradient:
                for (unsigned k = 0; k < axes; ++k)
                    site.gradient[gradients][k] =
                        operands_.source(functions_.element(o, k), Type::f32);
                ++gradients;
                break;
            case OperandConstraint::offsets:
                for (unsigned k = 0; k < axes; ++k)
                    site.offset[k] = operands_.source(functions_.element(o, k), Type::s32);
                break;
            default:
                code_.fail(i.line, "the instruction has an unsupported operand");
        }
    }
    if (site.values > 4) code_.fail(i.line, "vectors of more than 4 elements are not supported");
    if (width * site.values > 16) code_.fail(i.line, "an access has more than 16 bytes");
    DecodedOp& code = code_.emit(texture_handler(site.operation));
    code.imm = static_cast<std::int64_t>(code_.kernel().textures.size());
    code_.kernel().textures.push_back(site);
    for (unsigned k = 0; k < widened; ++k)
        operands_.resize(widen[k].to, widen[k].to_type, widen[k].from,
                         width == 1   ? Type::u8
                         : width == 2 ? Type::u16
                                      : Type::u32);
}

}  // namespace cupola::cpu::interpreter
