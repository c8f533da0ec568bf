// cupola/compiler/include/stdlib.h - malloc and free.
#pragma once
// NVRTC has the functions and macros built in.
