// csrc/dropin/cudart/channel.cpp - conversion of channel descriptors to formats and back.
#include "dropin/cudart/channel.hpp"

#include <cstddef>

#include "dropin/cudart/cudart.hpp"

namespace cupola::cudart {
namespace {

// Formats of plain numbers, which have 1, 2 or 4 channels.
struct NumberFormat {
    cudaChannelFormatKind kind;
    int bits;
    CUarray_format format;
};
constexpr NumberFormat number_formats[] = {
    {cudaChannelFormatKindUnsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8},
    {cudaChannelFormatKindUnsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16},
    {cudaChannelFormatKindUnsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32},
    {cudaChannelFormatKindSigned, 8, CU_AD_FORMAT_SIGNED_INT8},
    {cudaChannelFormatKindSigned, 16, CU_AD_FORMAT_SIGNED_INT16},
    {cudaChannelFormatKindSigned, 32, CU_AD_FORMAT_SIGNED_INT32},
    {cudaChannelFormatKindFloat, 16, CU_AD_FORMAT_HALF},
    {cudaChannelFormatKindFloat, 32, CU_AD_FORMAT_FLOAT},
};

// Formats that have their own kind. A block of a compressed format has 4 x 4 elements. The planes
// of NV12 have elements of different sizes.
struct NamedFormat {
    int kind;
    int bits[4];
    int format;
    unsigned channels;
    std::size_t bytes;
};
constexpr NamedFormat named_formats[] = {
    {4, {8, 8, 8, 0}, CU_AD_FORMAT_NV12, 3, 0},
    {5, {8, 0, 0, 0}, CU_AD_FORMAT_UNORM_INT8X1, 1, 1},
    {6, {8, 8, 0, 0}, CU_AD_FORMAT_UNORM_INT8X2, 2, 2},
    {7, {8, 8, 8, 8}, CU_AD_FORMAT_UNORM_INT8X4, 4, 4},
    {8, {16, 0, 0, 0}, CU_AD_FORMAT_UNORM_INT16X1, 1, 2},
    {9, {16, 16, 0, 0}, CU_AD_FORMAT_UNORM_INT16X2, 2, 4},
    {10, {16, 16, 16, 16}, CU_AD_FORMAT_UNORM_INT16X4, 4, 8},
    {11, {8, 0, 0, 0}, CU_AD_FORMAT_SNORM_INT8X1, 1, 1},
    {12, {8, 8, 0, 0}, CU_AD_FORMAT_SNORM_INT8X2, 2, 2},
    {13, {8, 8, 8, 8}, CU_AD_FORMAT_SNORM_INT8X4, 4, 4},
    {14, {16, 0, 0, 0}, CU_AD_FORMAT_SNORM_INT16X1, 1, 2},
    {15, {16, 16, 0, 0}, CU_AD_FORMAT_SNORM_INT16X2, 2, 4},
    {16, {16, 16, 16, 16}, CU_AD_FORMAT_SNORM_INT16X4, 4, 8},
    {17, {8, 8, 8, 8}, CU_AD_FORMAT_BC1_UNORM, 4, 8},
    {18, {8, 8, 8, 8}, CU_AD_FORMAT_BC1_UNORM_SRGB, 4, 8},
    {19, {8, 8, 8, 8}, CU_AD_FORMAT_BC2_UNORM, 4, 16},
    {20, {8, 8, 8, 8}, CU_AD_FORMAT_BC2_UNORM_SRGB, 4, 16},
    {21, {8, 8, 8, 8}, CU_AD_FORMAT_BC3_UNORM, 4, 16},
    {22, {8, 8, 8, 8}, CU_AD_FORMAT_BC3_UNORM_SRGB, 4, 16},
    {23, {8, 0, 0, 0}, CU_AD_FORMAT_BC4_UNORM, 1, 8},
    {24, {8, 0, 0, 0}, CU_AD_FORMAT_BC4_SNORM, 1, 8},
    {25, {8, 8, 0, 0}, CU_AD_FORMAT_BC5_UNORM, 2, 16},
    {26, {8, 8, 0, 0}, CU_AD_FORMAT_BC5_SNORM, 2, 16},
    {27, {16, 16, 16, 0}, CU_AD_FORMAT_BC6H_UF16, 3, 16},
    {28, {16, 16, 16, 0}, CU_AD_FORMAT_BC6H_SF16, 3, 16},
    {29, {8, 8, 8, 8}, CU_AD_FORMAT_BC7_UNORM, 4, 16},
    {30, {8, 8, 8, 8}, CU_AD_FORMAT_BC7_UNORM_SRGB, 4, 16},
    // CUDA 13 added these: cudaChannelFormatKindUnsignedNormalized1010102,
    // CU_AD_FORMAT_UNORM_INT_101010_2.
    {31, {10, 10, 10, 2}, 0x50, 4, 4},
};

}  // namespace

cudaError_t format_of(const cudaChannelFormatDesc& channel, ElementFormat& format) {
    const int bits[] = {channel.x, channel.y, channel.z, channel.w};
    for (const NamedFormat& named : named_formats) {
        if (named.kind != channel.f) continue;
        for (int n = 0; n < 4; ++n)
            if (bits[n] != named.bits[n]) return cudaErrorInvalidChannelDescriptor;
        format = {static_cast<CUarray_format>(named.format), named.channels};
        return cudaSuccess;
    }
    unsigned channels = 0;
    while (channels < 4 && bits[channels] != 0) ++channels;
    if (channels != 1 && channels != 2 && channels != 4) return cudaErrorInvalidChannelDescriptor;
    for (unsigned n = 0; n < 4; ++n)
        if (bits[n] != (n < channels ? channel.x : 0)) return cudaErrorInvalidChannelDescriptor;
    for (const NumberFormat& number : number_formats)
        if (number.kind == channel.f && number.bits == channel.x) {
            format = {number.format, channels};
            return cudaSuccess;
        }
    return cudaErrorInvalidChannelDescriptor;
}

bool channel_of(CUarray_format format, unsigned channels, cudaChannelFormatDesc& channel) {
    for (const NamedFormat& named : named_formats)
        if (named.format == format) {
            channel = {named.bits[0], named.bits[1], named.bits[2], named.bits[3],
                       static_cast<cudaChannelFormatKind>(named.kind)};
            return true;
        }
    for (const NumberFormat& number : number_formats)
        if (number.format == format) {
            channel = {number.bits, channels > 1 ? number.bits : 0, channels > 2 ? number.bits : 0,
                       channels > 3 ? number.bits : 0, number.kind};
            return true;
        }
    return false;
}

std::size_t element_bytes(CUarray_format format, unsigned channels) {
    for (const NamedFormat& named : named_formats)
        if (named.format == format) return named.bytes;
    for (const NumberFormat& number : number_formats)
        if (number.format == format) return channels * static_cast<std::size_t>(number.bits) / 8;
    return 0;
}

}  // namespace cupola::cudart

CUPOLA_CUDART cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                          cudaChannelFormatKind kind) {
    return {x, y, z, w, kind};
}
