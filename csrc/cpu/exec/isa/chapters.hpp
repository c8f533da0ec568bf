// csrc/cpu/exec/isa/chapters.hpp - functions that find handlers, one for each group of rows.
#pragma once

#include "cpu/exec/isa.hpp"

namespace cupola::cpu::CUPOLA_ISA {

exec::Handler find_integer(unsigned row, const exec::Key& key);
exec::Handler find_real(unsigned row, const exec::Key& key);
exec::Handler find_compare(unsigned row, const exec::Key& key);
exec::Handler find_convert(unsigned row, const exec::Key& key);
exec::Handler find_move(unsigned row, const exec::Key& key);
exec::Handler find_sync(unsigned row, const exec::Key& key);
exec::Handler find_async(unsigned row, const exec::Key& key);

// matrix.cpp
extern const exec::TileProducts tile_products;

// ld.param of a kernel: one value for all lanes.
exec::Handler find_parameter_load(unsigned bytes);

}  // namespace cupola::cpu::CUPOLA_ISA
