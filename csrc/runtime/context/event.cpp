// csrc/runtime/context/event.cpp - creates and destroys events.
#include "runtime/context/event.hpp"

#include "runtime/lifetime/capture_scope.hpp"

namespace cupola {

Event::Event(Context& context, unsigned flags) : context(context) {
    ContextScope current(context);
    CUPOLA_CALL(context.driver, cuEventCreate, &handle, flags);
}

Event::~Event() {
    const RelaxedCapture relaxed(context.driver, RelaxedCapture::any_library);
    if (const Driver* d = context.driver.alive()) d->cuEventDestroy(handle);
}

}  // namespace cupola
