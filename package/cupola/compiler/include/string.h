// cupola/compiler/include/string.h - memcpy and memset.
#pragma once
// NVRTC has the functions and macros built in.
