// csrc/cpu/api/debugger.cpp - cupola's own exports for a debugger in the same process.
#include "cpu/debugger/session.hpp"

#include "cpu/device/base/cuda.hpp"

using cupola::cpu::debugger::Session;

// From now on launches run in the calling thread, and the handler receives their events as JSON.
// Returns 0 if a front end is attached by CUPOLA_CPU_DEBUG.
CUPOLA_API int cupola_cpu_debug_attach(int (*handler)(const char* event)) {
    return handler && Session::attach(handler) ? 1 : 0;
}

// Answers a request, inside of the handler. The reply is valid until the next request.
CUPOLA_API const char* cupola_cpu_debug_request(const char* request, size_t bytes,
                                                size_t* reply_bytes) {
    Session* const session = Session::get();
    if (!session || !request || !reply_bytes) return nullptr;
    const std::string& reply = session->request({request, bytes});
    *reply_bytes = reply.size();
    return reply.data();
}

// Sends an event, as JSON, to the front end at CUPOLA_CPU_DEBUG. Returns 0 if no front end is
// connected.
CUPOLA_API int cupola_cpu_debug_note(const char* event) {
    Session* const session = Session::get();
    return session && event && session->note(event) ? 1 : 0;
}
