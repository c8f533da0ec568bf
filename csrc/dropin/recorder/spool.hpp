// csrc/dropin/recorder/spool.hpp - the file of records that `python -m cupola record` converts.
//
// A file has a line with the format's version, and records: a kind and the number of bytes, eight
// bytes each, and the bytes. A record is written by one call, after the records that it refers to.
// So a killed process leaves whole records, and at most one that is cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupola::recorder {

// package/cupola/recording/spool.py reads the same numbers.
enum class Kind : std::uint64_t {
    device = 1,  // name, compute capability
    image = 2,   // number, bytes
    data = 3,    // contents of a piece of memory: of the next launch, or after the last one
    launch = 4,  // with one piece for each of the data records before it
    after = 5,   // the error; without one, data records with the contents after the launch precede
    left_out = 6,  // kernel, reason, count
    end = 7,       // why the recording stopped early; empty where it did not
};

// The bytes of a record.
class Record {
  public:
    Record& number(std::uint64_t value);
    Record& text(std::string_view value);
    const std::string& bytes() const { return bytes_; }

  private:
    std::string bytes_;
};

class Spool {
  public:
    void write(Kind kind, std::string_view bytes);
    bool is_open() const { return file_ >= 0; }
    // Whether a file could be made and written.
    bool failed() const { return failed_; }

  private:
    void open();
    void put(std::string_view bytes);

    int file_ = -1;
    bool failed_ = false;
};

}  // namespace cupola::recorder
