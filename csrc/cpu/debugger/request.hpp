// csrc/cpu/debugger/request.hpp - the requests of a front end. Their bytes are untrusted.
//
// A message in either direction is a frame: its size in four bytes, lowest first, then its payload.
// The payload of a request is a word, then numbers or bytes behind one blank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupola::cpu::debugger {

// The version of the requests and events in this file, which the event `hello` has.
inline constexpr int protocol_version = 1;
inline constexpr std::size_t max_frame_bytes = 64u << 20;

struct Request {
    std::string_view word, rest;
};
Request request_of(std::string_view payload);

// Decimal numbers with blanks between; nothing if the text has another count or another character.
std::optional<std::vector<std::uint64_t>> numbers_of(std::string_view text, std::size_t count);

// A place where a launch stops: an operation, and the block and thread that execute it.
struct Breakpoint {
    std::uint32_t id = 0, op = 0;
    bool any_block = true, any_thread = true;
    std::uint32_t block[3] = {0, 0, 0};
    std::uint32_t thread = 0;  // the warp's number in the block
};
// A breakpoint a line: ID OP BLOCK THREAD, where BLOCK is X,Y,Z or * and THREAD a number or *.
// Nothing if a line is malformed or names an operation that the kernel does not have.
std::optional<std::vector<Breakpoint>> breakpoints_of(std::string_view text, std::size_t ops);

// A source statement for each operation, 0 for none.
struct Statements {
    static constexpr std::uint32_t begin = 1u << 31;  // the operation begins the statement
    std::vector<std::uint32_t> of_op;
    std::vector<std::uint8_t> inlined;  // the depth of inlined calls
};
// Four bytes for each operation, lowest first, then one for its depth. Nothing for other sizes.
std::optional<Statements> statements_of(std::string_view bytes, std::size_t ops);

// The size of the frame that the four bytes announce; nothing if it is too large.
std::optional<std::size_t> frame_bytes(const unsigned char (&head)[4]);
std::string frame_of(std::string_view payload);

std::string quoted(std::string_view text);  // as JSON

}  // namespace cupola::cpu::debugger
