// csrc/cudart/versioned.cpp - functions whose parameters differ between versions 12 and 13 of the
// runtime, without those that take a stream.
#include "cudart/runtime.hpp"

using namespace cupola::cudart;
