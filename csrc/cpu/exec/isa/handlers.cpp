// csrc/cpu/exec/isa/handlers.cpp - this instruction set's door: every row of the table to a
// handler.
#include "cpu/exec/isa/chapters.hpp"
#include "cpu/exec/isa/lanes.hpp"

namespace cupola::cpu::CUPOLA_ISA {

extern const exec::Isa handlers;

namespace {

const exec::Code* stay(const exec::Code* ip, exec::Warp&, std::byte*) { return ip; }

exec::Handler find(ptx::FormId form, const exec::Key& key) {
    switch (static_cast<ptx::ChapterId>(form.chapter())) {
        case ptx::ChapterId::integer:
            return find_integer(form.row(), key);
        case ptx::ChapterId::real:
            return find_real(form.row(), key);
        case ptx::ChapterId::compare:
            return find_compare(form.row(), key);
        case ptx::ChapterId::convert:
            return find_convert(form.row(), key);
        case ptx::ChapterId::move:
            return find_move(form.row(), key);
        case ptx::ChapterId::sync:
            return find_sync(form.row(), key);
        case ptx::ChapterId::async:
            return find_async(form.row(), key);
        case ptx::ChapterId::control:
            break;  // ../control.cpp
        case ptx::ChapterId::video:
            break;  // ../video.cpp
        case ptx::ChapterId::matrix:
            break;  // ../matrix_product.cpp and its neighbours
        case ptx::ChapterId::texture:
            break;  // ../texture.cpp, ../surface.cpp
    }
    return nullptr;
}

#define CUPOLA_STRING_(x) #x
#define CUPOLA_STRING(x) CUPOLA_STRING_(x)

}  // namespace

void run_alone(exec::Handler run, const exec::Code* ip, exec::Warp& w, std::byte* r) noexcept {
    exec::Code code[2] = {*ip, {}};
    code[1].run = &stay;
    run(code, w, r);
}

const exec::Isa handlers{CUPOLA_STRING(CUPOLA_ISA), &find, &find_parameter_load};

}  // namespace cupola::cpu::CUPOLA_ISA
