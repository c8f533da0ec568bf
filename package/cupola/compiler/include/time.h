// cupola/compiler/include/time.h - clock.
#pragma once
// NVRTC has the functions and macros built in.
