// csrc/cudart/channel.hpp - the runtime's descriptions of array elements, and the driver's.
#pragma once

#include "cudart/types.hpp"

namespace cupola::cudart {

struct ElementFormat {
    CUarray_format format;
    unsigned channels;
};

// cudaErrorInvalidChannelDescriptor: arrays have no such elements.
cudaError_t format_of(const cudaChannelFormatDesc& channel, ElementFormat& format);
// False: the runtime has no name for the format.
bool channel_of(CUarray_format format, unsigned channels, cudaChannelFormatDesc& channel);
// The bytes of an element; of a block in formats of compressed blocks. 0: the format has several
// planes, or the runtime has no name for it.
std::size_t element_bytes(CUarray_format format, unsigned channels);

}  // namespace cupola::cudart
