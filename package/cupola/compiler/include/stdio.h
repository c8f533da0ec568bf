// cupola/compiler/include/stdio.h - printf.
#pragma once
// NVRTC has the functions and macros built in.
