// csrc/runtime/module/kernel.cpp - a kernel's parameters, from all sources that describe them.
#include "runtime/module/kernel.hpp"
#include "runtime/base/intern.hpp"

#include <algorithm>
#include <cstring>

#include "platform/demangle.hpp"
#include "runtime/context/flight.hpp"

namespace cupola {

Kernel::Kernel(Ref<Module> module_, std::string name_)
    : Kernel(module_, name_, module_->function(name_)) {}

Kernel::Kernel(Ref<Module> module_, std::string name_, CUfunction handle_)
    : module(std::move(module_)),
      context(module->context),
      handle(handle_),
      name(std::move(name_)) {
    if (!handle) fail(CUPOLA_ERROR_NOT_FOUND, "the module has no kernel " + name);
    demangled = demangle(name);
    title = cupola::title(name);
    interned_title_ = intern(title);
    ContextScope current(context);
    max_threads_ = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    static_shared_ = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    allowed_shared_ = attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    most_shared_ = context.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    read_parameters();
}

void Kernel::read_parameters() {
    std::vector<Parameter> parameters, declared;
    const bool in_ptx = module->declared(name, declared);
    if (auto* info = context.driver->cuFuncGetParamInfo) {
        for (;;) {
            std::size_t offset = 0, size = 0;
            CUresult code = info(handle, parameters.size(), &offset, &size);
            if (code == CUDA_ERROR_INVALID_VALUE) break;  // one past the last parameter
            check(context.driver, code, "cuFuncGetParamInfo");
            Parameter p;
            p.offset = static_cast<std::uint32_t>(offset);
            p.size = static_cast<std::uint32_t>(size);
            p.kind = kinds_of_size(p.size);
            parameters.push_back(std::move(p));
        }
        // In machine code, the offset of the first parameter can be above 0 (see image/cubin.cpp).
        const std::uint32_t first = parameters.empty() ? 0 : parameters[0].offset;
        for (Parameter& p : parameters) p.offset -= first;
        if (in_ptx) merge(parameters, declared);
    } else if (in_ptx) {
        parameters = std::move(declared);
    } else {
        known_ = false;
    }
    if (demangled != name && from_demangled(demangled, declared) && merge(parameters, declared))
        known_by_ = CUPOLA_KNOWN_COMPILED;
    publish(std::move(parameters));
    if (known_) place();
}

// Launches of other threads read offsets without a lock, so these are written once.
void Kernel::take(std::vector<Parameter> found, int known_by) {
    publish(std::move(found));
    known_by_.store(known_by, std::memory_order_relaxed);
    if (known_.load(std::memory_order_relaxed)) return;
    place();
    known_.store(true, std::memory_order_release);
}

void Kernel::require_known() const {
    module->require_loaded();
    if (known_.load(std::memory_order_acquire)) return;
    fail(CUPOLA_ERROR_IMAGE,
         title +
             ": this driver is older than CUDA 12.4 and the image has no readable PTX: "
             "the kernel's parameters are unknown; load the image with a manifest");
}

// The old list is kept: another thread may be packing a launch with it.
void Kernel::publish(std::vector<Parameter> found) {
    auto list = std::make_unique<List>();
    list->parameters = std::move(found);
    for (const Parameter& p : list->parameters)
        list->published.push_back({p.offset, p.size, p.kind, p.name.c_str(), p.type.c_str()});
    lists_.push_back(std::move(list));
    current_.store(lists_.back().get(), std::memory_order_release);
}

void Kernel::place() {
    std::vector<std::uint32_t> sizes;
    for (const Parameter& p : parameters()) {
        offsets_.push_back(p.offset);
        sizes.push_back(p.size);
        parameter_bytes = p.offset + p.size;
    }
    if (context.driver->cuFuncGetParamInfo) return;
    module->note_sizes(handle, std::move(sizes));
}

void Kernel::declare(const cupola_parameter* declared, std::size_t count) {
    const std::lock_guard<std::mutex> lock(declaring_);
    std::vector<Parameter> given;
    std::uint32_t end = 0;  // end of the previous parameter
    for (std::size_t i = 0; i < count; ++i) {
        const cupola_parameter& p = declared[i];
        given.push_back({p.offset, p.size, p.kind, p.name ? p.name : "", p.type ? p.type : ""});
        if (!known_ && (p.size == 0 || p.size > 1u << 16 || p.offset > 1u << 16))
            fail(CUPOLA_ERROR_IMAGE,
                 title + ": parameter " + std::to_string(i) +
                     " is declared without a size, and no other source has its size");
        if (!known_ && p.offset < end)
            fail(CUPOLA_ERROR_IMAGE, title + ": parameter " + std::to_string(i) +
                                         " is declared at offset " + std::to_string(p.offset) +
                                         ", but the previous one ends at " + std::to_string(end));
        end = p.offset + p.size;
        const std::vector<Parameter>& have = parameters();
        if (i < have.size() && p.size && p.offset != have[i].offset)
            fail(CUPOLA_ERROR_IMAGE, title + ": parameter " + std::to_string(i) +
                                         " is declared at offset " + std::to_string(p.offset) +
                                         ", but the image has it at offset " +
                                         std::to_string(have[i].offset));
    }
    std::vector<Parameter> found = parameters();
    if (!known_) {
        found.clear();
        for (const Parameter& p : given)
            found.push_back({p.offset, p.size, kinds_of_size(p.size), {}, {}});
    }
    if (!merge(found, given))
        fail(CUPOLA_ERROR_IMAGE, title +
                                     ": the declared parameters do not fit the "
                                     "image: number, sizes or kinds differ");
    take(std::move(found), CUPOLA_KNOWN_MANIFEST);
}

// "declared as double (8 bytes), but ...", or "".
std::string Kernel::mismatch(std::size_t index, const Declared& declared) const {
    const Parameter& have = parameters()[index];
    const Parameter& given = declared.parameter;
    constexpr std::uint32_t kinds = CUPOLA_POINTER | CUPOLA_INTEGER | CUPOLA_FLOAT | CUPOLA_STRUCT;
    constexpr std::uint32_t details = CUPOLA_SIGNED | CUPOLA_UNSIGNED | CUPOLA_BFLOAT;
    Parameter shown = given;
    if (!shown.size) shown.size = have.size;
    const std::string what = "declared as " + cupola::describe(shown);
    if (shown.size != have.size)
        return what + " (" + std::to_string(given.size) + " bytes), but the image has " +
               std::to_string(have.size) + " bytes there";
    if (have.offset % declared.align)
        return what + ", which lies at a multiple of " + std::to_string(declared.align) +
               " bytes, but the image has it at offset " + std::to_string(have.offset);
    // Neither PTX nor the driver distinguishes the two formats of two-byte floats.
    const bool half = have.size <= 2 && known_by_ == CUPOLA_KNOWN_SIZES;
    const bool wrong_kind = !(have.kind & given.kind & kinds) && !half;
    const bool compiled = known_by_ >= CUPOLA_KNOWN_COMPILED;
    const bool both_told = !have.type.empty() && have.kind & kinds & ~std::uint32_t(CUPOLA_STRUCT);
    const bool other_type = compiled && both_told &&
                            (have.kind & CUPOLA_POINTER ? differ(have.type, given.type)
                                                        : (have.kind ^ given.kind) & details);
    if (wrong_kind || other_type)
        return what + ", but the " + (compiled ? "compiler" : "image") + " has " +
               cupola::describe(have) + " there";
    const int width = static_cast<int>(have.size);
    if (given.kind & CUPOLA_INTEGER && width != 1 && width != 2 && width != 4 && width != 8)
        return what + ", but the image has " + std::to_string(width) + " bytes there";
    return "";
}

// The declared parameters with offsets by the rules of C, where no other source has sizes.
std::vector<Parameter> Kernel::with_offsets(const std::vector<Declared>& declared) const {
    std::vector<Parameter> found;
    std::uint32_t offset = 0;
    for (const Declared& one : declared) {
        const std::uint32_t size = one.parameter.size;
        if (!size)
            fail(CUPOLA_ERROR_VALUE,
                 title + ": parameter " + std::to_string(found.size()) +
                     " is declared as a struct, whose size this driver does not report "
                     "(it is older than CUDA 12.4, and the image has no PTX): load it with a "
                     "manifest");
        offset = (offset + one.align - 1) / one.align * one.align;
        found.push_back({offset, size, kinds_of_size(size), {}, {}});
        offset += size;
    }
    return found;
}

void Kernel::declare(const std::string& list) {
    const std::lock_guard<std::mutex> lock(declaring_);
    std::vector<Declared> declared;
    const std::string wrong = from_declaration(list, declared);
    if (!wrong.empty())
        fail(CUPOLA_ERROR_VALUE,
             title + ": the declaration \"" + list + "\" can't be read: " + wrong);
    std::vector<Parameter> found = known_ ? parameters() : with_offsets(declared);
    if (declared.size() != found.size()) {
        std::string sizes;
        for (const Parameter& p : found)
            sizes += (sizes.empty() ? ", of " : ", ") + std::to_string(p.size);
        fail(CUPOLA_ERROR_VALUE,
             title + ": " + std::to_string(declared.size()) +
                 " parameters are declared, the image has " + std::to_string(found.size()) + sizes +
                 (sizes.empty() ? "" : " bytes") + ": declare each of them, in order");
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
        const Parameter& given = declared[i].parameter;
        const std::string differs = known_ ? mismatch(i, declared[i]) : "";
        if (!differs.empty())
            fail(CUPOLA_ERROR_VALUE,
                 title + ": parameter " + std::to_string(i) +
                     (given.name.empty() ? "" : " (" + given.name + ")") + " is " + differs +
                     "; correct the declaration, or load the image that it belongs to");
        Parameter& have = found[i];
        if (!given.name.empty()) have.name = given.name;
        if (known_by_ >= CUPOLA_KNOWN_COMPILED) continue;
        have.kind = given.kind;
        have.type = given.type;
    }
    take(std::move(found), std::max(known_by(), int(CUPOLA_KNOWN_DECLARED)));
}

void Kernel::describe(const char* type, const char* const* names, std::size_t count) {
    const std::lock_guard<std::mutex> lock(declaring_);
    std::vector<Parameter> found = parameters(), declared;
    int known_by = known_by_;
    if (type && from_function_type(demangle(type), declared) && merge(found, declared))
        known_by = std::max(known_by, int(CUPOLA_KNOWN_COMPILED));
    if (names && count == found.size())
        for (std::size_t i = 0; i < count; ++i)
            if (names[i] && *names[i]) found[i].name = names[i];
    if (known_) take(std::move(found), known_by);
}

const char* Kernel::null_arguments(void* const* pointers) const noexcept try {
    const std::vector<Parameter>& list = parameters();
    std::string text;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const Parameter& p = list[i];
        std::uint64_t value = 0;
        if (!(p.kind & CUPOLA_POINTER) || p.kind & CUPOLA_HIDDEN) continue;
        std::memcpy(&value, pointers[i], sizeof value);
        if (value) continue;
        text += ", argument " + std::to_string(i) + (p.name.empty() ? "" : " (" + p.name + ")") +
                (p.kind & CUPOLA_INTEGER ? " is 0, which is null if it is a pointer" : " is null");
    }
    return text.empty() ? nullptr : intern(text);
} catch (const std::bad_alloc&) {  // the report lacks them
    return nullptr;
}

int Kernel::attribute(CUfunction_attribute attribute) const {
    const auto using_it = module->use();
    int value = 0;
    CUPOLA_CALL(context.driver, cuFuncGetAttribute, &value, attribute, handle);
    return value;
}

}  // namespace cupola
