// cupola/compiler/include/assert.h - assert.
#pragma once
// NVRTC has the functions and macros built in.
