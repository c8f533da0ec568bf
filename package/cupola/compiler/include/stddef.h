// cupola/compiler/include/stddef.h - size_t.
#pragma once
// NVRTC has the functions and macros built in.
