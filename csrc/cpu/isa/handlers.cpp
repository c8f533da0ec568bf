// csrc/cpu/isa/handlers.cpp - the handlers of one instruction set, as an interpreter::Isa.
#include "cpu/isa/chapters.hpp"
#include "cpu/isa/lanes.hpp"

namespace cupola::cpu::CUPOLA_ISA {

extern const interpreter::Isa handlers;

namespace {

const interpreter::DecodedOp* stay(const interpreter::DecodedOp* ip, interpreter::Warp&,
                                   std::byte*) {
    return ip;
}

interpreter::Handler find(ptx::FormId form, const interpreter::Key& key) {
    switch (static_cast<ptx::InstructionGroupId>(form.group())) {
        case ptx::InstructionGroupId::integer:
            return find_integer(form.row(), key);
        case ptx::InstructionGroupId::real:
            return find_real(form.row(), key);
        case ptx::InstructionGroupId::compare:
            return find_compare(form.row(), key);
        case ptx::InstructionGroupId::convert:
            return find_convert(form.row(), key);
        case ptx::InstructionGroupId::move:
            return find_move(form.row(), key);
        case ptx::InstructionGroupId::sync:
            return find_sync(form.row(), key);
        case ptx::InstructionGroupId::async:
            return find_async(form.row(), key);
        case ptx::InstructionGroupId::control:
            break;  // ../control.cpp
        case ptx::InstructionGroupId::video:
            break;  // ../video.cpp
        case ptx::InstructionGroupId::matrix:
            break;  // ../matrix_product.cpp and its neighbours
        case ptx::InstructionGroupId::texture:
            break;  // ../texture.cpp, ../surface.cpp
        case ptx::InstructionGroupId::tcgen05:
            break;  // ../tensor_memory.cpp and its neighbours
    }
    return nullptr;
}

#define CUPOLA_STRING_(x) #x
#define CUPOLA_STRING(x) CUPOLA_STRING_(x)

}  // namespace

void run_alone(interpreter::Handler run, const interpreter::DecodedOp* ip, interpreter::Warp& w,
               std::byte* r) noexcept {
    interpreter::DecodedOp code[2] = {*ip, {}};
    code[1].run = &stay;
    run(code, w, r);
}

const interpreter::Isa handlers{CUPOLA_STRING(CUPOLA_ISA), &find, &find_parameter_load,
                                &tile_products};

}  // namespace cupola::cpu::CUPOLA_ISA
