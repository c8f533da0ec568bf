// csrc/cpu/coverage/record.hpp - a piece of a coverage file, which package/cupola/coverage reads.
//
// The file is text: the line "cupola-coverage 1", then records of any processes. A record is a line
// "record BYTES CRC32", then BYTES bytes, with one statement a line. Numbers are decimal; names
// and paths have %XX for the characters that separate.
//
//   module DIGEST
//   file PATH                       index: from 0, in the module
//   scope PARENT FILE LINE          an inlined call; index: from 1
//   function entry|device NAME      index: from 0
//   lines WORD SITE...              a SITE is SCOPE:FILE:LINE
//   branch WORD SITE TAKEN OTHER    TAKEN and OTHER are sites; 0:0:0: the end
//   table WORD SITE SIDE...
//   context NAME
//   counts FUNCTION WORD:COUNT...   words that are not 0
//
// Only the first record of a module in a process describes it, from `file` to `table`.
#pragma once

#include <cstdint>
#include <string>

#include "cpu/coverage/module_counts.hpp"

namespace cupola::cpu::coverage {

class Record {
  public:
    void begin_module(const std::string& digest);
    void describe(const ModulePlan& plan);
    void add_counts(const std::string& context, const ModuleCounts::ByFunction& counts);
    // Appends the record, or only makes the file where the record is empty. Other processes may
    // append at the same time. False: `error` says why not.
    bool append_to(const std::string& file, std::string& error) const;

  private:
    std::string text_;
};

std::string absolute_path(const std::string& path);

}  // namespace cupola::cpu::coverage
