// csrc/cpu/base/thread.hpp - starts the threads of the library, and parks them at its end.
#pragma once

namespace cupola::cpu {

// Starts a detached thread with all signals blocked, because signals belong to the program. False
// if the system cannot start it.
[[nodiscard]] bool start_thread(void* (*main)(void*), void* argument);

// Never returns. The end of the process ends the thread.
[[noreturn]] void park_thread();

}  // namespace cupola::cpu
