// csrc/image/error.hpp - what is wrong with an image's bytes.
#pragma once

#include <stdexcept>

namespace cupola::image {

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace cupola::image
