// csrc/cpu/device/lifecycle/context_lifecycle.cpp - destroys the objects of a context in their
// order.
#include "cpu/device/lifecycle/context_lifecycle.hpp"

#include <memory>

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/module/module.hpp"
#include "cpu/device/stream/event.hpp"
#include "cpu/device/stream/stream.hpp"
#include "cpu/device/texture/array.hpp"

namespace cupola::cpu {

void open_context(Context& context, unsigned flags) {
    auto legacy = std::make_shared<Stream>(context.shared_from_this(), 0u, 0, Stream::Kind::legacy);
    context.open(flags, std::move(legacy));
}

void close_context(Context& context) {
    if (!context.begin_close()) return;
    Driver& driver = context.driver();
    driver.scheduler.stop(context);
    for (auto& stream : context.streams()) stream->wait(stream->submitted());
    const auto mine = [&](const auto& object) { return object.context() == &context; };
    driver.streams.remove_if(mine);
    driver.events.remove_if(mine);
    Module::close_all(context);
    driver.textures.close(context);
    driver.mipmapped_arrays.remove_if(mine);
    driver.arrays.remove_if(mine);
    for (const Allocation& allocation : driver.memory.owned_by(&context)) {
        if (allocation.kind == Allocation::Kind::registered)
            driver.memory.remove_registered(allocation.begin);
        else
            driver.memory.release(allocation.begin, driver.budget(allocation));
    }
    context.end_close();
}

}  // namespace cupola::cpu
