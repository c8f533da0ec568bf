// cupola/compiler/include/stdbool.h - bool.
#pragma once
// NVRTC has the functions and macros built in.
