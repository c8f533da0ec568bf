// csrc/cpu/base/thread.cpp - starts the threads of the library, and parks them at its end.
#include "cpu/base/thread.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace cupola::cpu {

bool start_thread(void* (*main)(void*), void* argument) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    const int failed = pthread_create(&thread, nullptr, main, argument);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failed != 0) return false;
    pthread_detach(thread);
    return true;
}

void park_thread() {
    for (;;) pause();
}

}  // namespace cupola::cpu
