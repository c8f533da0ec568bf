// csrc/runtime/operation/xla_abi.hpp - XLA's C interface of foreign functions, as far as handlers
// of jaxlib 0.5 and newer need it. tests/test_op_jax.py compares it with jaxlib's header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cupola::xla {

struct Extension {
    std::size_t struct_size;
    std::int32_t type;  // 1: Metadata
    Extension* next;
};

struct Version {
    std::size_t struct_size;
    Extension* extension;
    std::int32_t major, minor;
};

struct Metadata {
    std::size_t struct_size;
    Version version;
    std::uint32_t traits;
};

struct MetadataExtension {
    Extension base;
    Metadata* metadata;
};

struct ErrorCreate {
    std::size_t struct_size;
    Extension* extension;
    const char* message;
    std::int32_t code;
};

struct StreamGet {
    std::size_t struct_size;
    Extension* extension;
    void* context;
    void* stream;
};

struct Api {
    std::size_t struct_size;
    Extension* extension;
    Version version;
    const void* internal;
    void* (*error_create)(ErrorCreate*);
    void* error_message;
    void* error_destroy;
    void* handler_register;
    void* (*stream_get)(StreamGet*);
};

struct Buffer {
    std::size_t struct_size;
    Extension* extension;
    std::int32_t type;
    void* data;
    std::int64_t rank;
    std::int64_t* dims;
};

struct Bytes {
    const char* data;
    std::size_t size;
};

struct Scalar {
    std::int32_t type;
    void* value;
};

struct Arguments {
    std::size_t struct_size;
    Extension* extension;
    std::int64_t size;
    std::int32_t* types;
    void** values;
};

struct Attributes {
    std::size_t struct_size;
    Extension* extension;
    std::int64_t size;
    std::int32_t* types;
    Bytes** names;
    void** values;
};

struct CallFrame {
    std::size_t struct_size;
    Extension* extension;
    const Api* api;
    void* context;
    std::int32_t stage;
    Arguments arguments, results;
    Attributes attributes;
};

constexpr std::int32_t metadata_extension = 1;
constexpr std::uint32_t command_buffer_compatible = 1;
constexpr std::int32_t buffer_type = 1, scalar_attribute = 3, string_attribute = 4;
constexpr std::int32_t execute_stage = 3;
// Types of scalars.
constexpr std::int32_t pred = 1, s32 = 4, s64 = 5, u32 = 8, u64 = 9, f32 = 11, f64 = 12;
constexpr std::int32_t invalid_argument = 3, internal_error = 13;

}  // namespace cupola::xla
