// csrc/cpu/native/print.hpp - a decoded kernel as a C++ function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cpu/native/program.hpp"

namespace cupola::cpu::native {

// Writes one function. What it includes is csrc/cpu/native/access.hpp.
class Printer {
  public:
    Printer(const Program& program, std::string& text) : program_(program), text_(text) {}
    void function(const std::string& name);

  private:
    // print.cpp: the frame, and where control goes
    void variables();
    void constants_of_warp();
    void enter();
    std::string alive(std::uint32_t b, const char* verb) const;
    void keep_constants();
    // Whether it is a variable that the register file has to have while a warp is left.
    static bool is_moved(const Register& r) {
        return !r.file && !r.constant && !r.special && !r.same;
    }
    void leave();
    void block(std::uint32_t b);
    void transfer(std::uint32_t b, std::uint32_t n);
    void go(std::uint32_t b, std::uint32_t to, bool charged, std::uint32_t n);
    std::string behind(std::uint32_t b) const;
    std::string beyond(std::uint32_t b) const;
    void away(std::uint32_t b);

    // statement.cpp: one Code each
    void statement(std::uint32_t b, std::uint32_t n);
    void lanes(std::uint32_t n);
    void logic(std::uint32_t n);
    void once(std::uint32_t n);
    void memory(std::uint32_t b, std::uint32_t n);
    void handler(std::uint32_t b, std::uint32_t n);
    std::string row(const Step& step) const;
    std::string input(const Access& access);
    std::string output(const Access& access, bool guarded, std::string& after);
    std::string bits_output(const Access& p, const Access* q, bool guarded, std::string& after);
    bool masked(const Register& r, bool guarded) const { return guarded || r.crosses; }

    void line(const std::string& text) { text_ += "    " + text + "\n"; }
    std::string temporary(unsigned bytes);

    const Program& program_;
    std::string& text_;
    std::uint32_t temporaries_ = 0;
};

// A kernel as source, which others may follow: its function is `name_of_kernel(n)`. Throws
// Unprintable.
std::string source_of(const Program& program, std::size_t n);
std::string name_of_kernel(std::size_t n);

}  // namespace cupola::cpu::native
