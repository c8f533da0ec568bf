// csrc/cpu/isa/chapters.hpp - functions that find handlers, one for each group of rows.
#pragma once

#include "cpu/isa/handler_table.hpp"

namespace cupola::cpu::CUPOLA_ISA {

interpreter::Handler find_integer(unsigned row, const interpreter::Key& key);
interpreter::Handler find_real(unsigned row, const interpreter::Key& key);
interpreter::Handler find_compare(unsigned row, const interpreter::Key& key);
interpreter::Handler find_convert(unsigned row, const interpreter::Key& key);
interpreter::Handler find_move(unsigned row, const interpreter::Key& key);
interpreter::Handler find_sync(unsigned row, const interpreter::Key& key);
interpreter::Handler find_async(unsigned row, const interpreter::Key& key);

// matrix.cpp
extern const interpreter::TileProducts tile_products;

// ld.param of a kernel: one value for all lanes.
interpreter::Handler find_parameter_load(unsigned bytes);

}  // namespace cupola::cpu::CUPOLA_ISA
