// csrc/dropin/cudart/channel.hpp - the runtime's descriptions of array elements, and the driver's.
#pragma once

#include "dropin/cudart/types.hpp"

namespace cupola::cudart {

struct ElementFormat {
    CUarray_format format;
    unsigned channels;
};

// Returns cudaErrorInvalidChannelDescriptor if arrays have no such elements.
cudaError_t format_of(const cudaChannelFormatDesc& channel, ElementFormat& format);
// Returns false if the runtime has no name for the format.
bool channel_of(CUarray_format format, unsigned channels, cudaChannelFormatDesc& channel);
// The bytes of an element or, in compressed formats, of a block of 4 x 4 elements. Returns 0 if the
// format has several planes or the runtime has no name for it.
std::size_t element_bytes(CUarray_format format, unsigned channels);

}  // namespace cupola::cudart
