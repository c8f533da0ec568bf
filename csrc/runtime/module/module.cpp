// csrc/runtime/module/module.cpp - loads images, and finds kernels and variables in them by name.
#include "runtime/module/module.hpp"

#include <algorithm>
#include <cstring>

#include "image/choice.hpp"
#include "image/cubin.hpp"
#include "platform/demangle.hpp"
#include "ptx/declared_kernels.hpp"
#include "runtime/base/name_suggestions.hpp"
#include "runtime/driver/output.hpp"
#include "runtime/lifetime/capture_scope.hpp"
#include "runtime/memory/memory.hpp"
#include "runtime/module/loadable.hpp"
#include "runtime/module/parameter.hpp"
#include "runtime/module/undefined.hpp"

namespace cupola {
namespace {

// The PTX version as " 9.0"; empty where the text can't be read.
std::string ptx_version(const image::Entry& entry) {
    if (entry.compressed) return "";
    const auto found = image::heading(entry.payload);
    if (!found) return "";
    return " " + std::to_string(found->version / 10) + "." + std::to_string(found->version % 10);
}

std::string list(const std::vector<image::Entry>& entries) {
    std::string text;
    for (const image::Entry& entry : entries) {
        text += text.empty() ? "" : ", ";
        if (entry.kind == image::Kind::ptx)
            text += "PTX" + ptx_version(entry) + " " + image::target_name(entry);
        else if (entry.kind == image::Kind::cubin)
            text += "cubin " + image::target_name(entry);
        else if (entry.number == image::lto_ir)
            text += "LTO-IR " + image::target_name(entry);
        else
            text += "code of kind " + std::to_string(entry.number);
        text += entry.compressed ? " (compressed)" : "";
    }
    return text.empty() ? "nothing" : text;
}

image::Taker taker(const Context& context) {
    const Driver& driver = context.driver;
    return {context.capability, driver.cpu ? 0 : image::newest_ptx(driver.version), !driver.cpu};
}

// Lists the image's entries and describes the device.
std::string about(const std::vector<image::Entry>& entries, const Context& context) {
    return "  the image holds: " + list(entries) + "\n  " + device_text(context) + ": " +
           context.name + ", compute capability " + capability_text(context.capability) +
           "\n  driver: CUDA " + version_text(context.driver->version) +
           (context.driver->cpu ? " (cupola's CPU device, which runs only PTX)" : "");
}

std::vector<image::Entry> entries_of(const void* data, std::size_t size) {
    if (!data || size == 0) fail(CUPOLA_ERROR_IMAGE, "the image is empty");
    std::vector<image::Entry> entries;
    try {
        entries = image::read(data, size);
    } catch (const image::Error& error) {
        fail(CUPOLA_ERROR_IMAGE, std::string("the image cannot be read: ") + error.what());
    }
    return entries;
}

// The entries that the driver may take, best first. Throws where there is none.
std::vector<image::Candidate> candidates_for(const Context& context,
                                             const std::vector<image::Entry>& entries) {
    std::vector<image::Candidate> found = image::candidates(entries, taker(context));
    if (!found.empty()) return found;
    std::string reasons;
    for (const image::Entry& entry : entries)
        reasons += "\n  " + image::judge(entry, taker(context)).reason;
    fail(CUPOLA_ERROR_IMAGE,
         "the image has no code for this device\n" + about(entries, context) + reasons +
             "\n  compile it with PTX for an architecture not newer than the device (nvcc "
             "-gencode arch=compute_75,code=compute_75)" +
             (context.driver->cpu
                  ? ""
                  : ", or with a cubin for sm_" + std::to_string(context.capability)) +
             "; for a package, name the target in its table (architectures or ptx)");
}

// Loads what the driver takes; after a failure `log` has the driver's messages.
CUresult load_bytes(const Context& context, const void* bytes, CUmodule& out, std::string& log) {
    // Request a log only after a failure: with a log buffer, NVIDIA's driver takes a quarter longer
    // for an image of many kernels.
    CUresult code = context.driver->cuModuleLoadDataEx(&out, bytes, 0, nullptr, nullptr);
    if (code == CUDA_SUCCESS) return code;
    log.assign(16384, '\0');
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    code = context.driver->cuModuleLoadDataEx(&out, bytes, 2, options, values);
    log.resize(std::strlen(log.c_str()));
    while (!log.empty() && log.back() == '\n') log.pop_back();
    return code;
}

// The remedy for PTX that the driver is too old for.
std::string newer_driver(const Context& context) {
    return "; update the driver, or compile the image with machine code for sm_" +
           std::to_string(context.capability) + " too";
}

// Whether a driver refuses an entry as such, so that another one may do.
bool refuses_entry(CUresult code) {
    return code == CUDA_ERROR_NO_BINARY_FOR_GPU || code == CUDA_ERROR_INVALID_IMAGE ||
           code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}

// Kernels may be loaded lazily: their errors appear after the module was loaded.
[[noreturn]] void fail_kernel(const Driver& driver, CUresult code, const char* call) {
    const char* refusal = nullptr;
    if (code == CUDA_ERROR_INVALID_PTX || code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
        code == CUDA_ERROR_JIT_COMPILER_NOT_FOUND)
        refusal = last_refusal(driver);
    std::string log = refusal ? refusal : "";
    log += undefined_symbols(log);
    try {
        fail_driver(driver, code, call, log);
    } catch (Error& error) {
        error.log = log;
        throw;
    }
}

}  // namespace

Module::Module(Context& context, const void* image, std::size_t size, bool search_output)
    : context(context) {
    const std::vector<image::Entry> entries = entries_of(image, size);
    const std::vector<image::Candidate> candidates = candidates_for(context, entries);
    if (context.driver->log >= Log::info)
        log("load an image of " + std::to_string(size) + " bytes on " + device_text(context) +
            ": " + list(entries));
    load(candidates, entries, search_output);
}

// For names and parameters, where the device runs machine code: the image's newest PTX that fits.
void Module::note_ptx(const std::vector<image::Entry>& entries) {
    const image::Entry* best = nullptr;
    for (const image::Entry& entry : entries) {
        if (entry.kind != image::Kind::ptx || entry.compressed) continue;
        const auto rank = [&](const image::Entry& one) {
            const bool fits = image::judge(one, taker(context)).fit != image::Fit::none;
            return std::pair(fits, one.architecture);
        };
        if (!best || rank(entry) > rank(*best)) best = &entry;
    }
    if (best) ptx_ = std::string(best->payload);
}

void Module::note_variables(std::string_view machine_code) {
    try {
        declared_ = image::Cubin(machine_code).variables();
    } catch (const image::Error&) {
        // The driver took the code, so its kernels can be used. Their variables can't be listed.
    }
}

void Module::load(const std::vector<image::Candidate>& candidates,
                  const std::vector<image::Entry>& entries, bool search_output) {
    ContextScope current(context);
    RelaxedCapture relaxed(context.driver);
    std::string refused;
    for (const image::Candidate& each : candidates) {
        const image::Entry& entry = *each.entry;
        const std::string name = image::target_name(entry);
        Loadable loadable(entry, taker(context));
        if (search_output && loadable.uses_output()) Output::found_printf();
        CUmodule loaded = nullptr;
        std::string log;
        const CUresult code = load_bytes(context, loadable.data(), loaded, log);
        if (code == CUDA_SUCCESS) {
            if (context.driver->log >= Log::info)
                cupola::log("took " + name + " on " + device_text(context) + ": " + each.reason);
            handle = loaded;
            register_range(reinterpret_cast<std::uintptr_t>(loaded), 1);
            ptx_ = loadable.ptx();
            omitted_ = std::move(loadable.omitted);
            for (const auto& each : omitted_)
                if (context.driver->log >= Log::info) cupola::log("left out " + omission(each));
            if (ptx_.empty()) note_ptx(entries);
            if (ptx_.empty()) note_variables(loadable.machine_code());
            return;
        }
        if (!loadable.too_new.empty()) log += "\n  " + name + " " + loadable.too_new;
        if (&each == &candidates.back() || !refuses_entry(code))
            fail_load(code, std::move(log), refused, entries);
        const char* text = nullptr;
        if (context.driver->cuGetErrorName(code, &text) != CUDA_SUCCESS || !text) text = "an error";
        refused += "\n  the driver refuses " + name + ": " + text + (log.empty() ? "" : ", ") + log;
        if (context.driver->log >= Log::info)
            cupola::log(device_text(context) + ": the driver refuses " + name + ": " + text);
    }
}

void Module::fail_load(CUresult code, std::string log, const std::string& refused,
                       const std::vector<image::Entry>& entries) const {
    if (const Driver* d = context.driver.alive();
        code == CUDA_ERROR_JIT_COMPILER_NOT_FOUND && log.empty() && d)
        if (const char* refusal = last_refusal(*d)) log = refusal;
    log += undefined_symbols(log);
    log += refused;
    if (code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
        log += "\n" + about(entries, context) + "\n  this driver takes the PTX of CUDA " +
               version_text(context.driver->version) + newer_driver(context);
    if (code == CUDA_ERROR_OUT_OF_MEMORY)
        log += (log.empty() ? "" : "\n  ") + std::string("asked for an image and its variables; ") +
               free_device_memory(context.driver);
    try {
        fail_driver(context.driver, code, "cuModuleLoadDataEx", log);
    } catch (Error& error) {
        error.log = log;
        // The image is at fault: the CPU device can't read compressed PTX.
        if (code == CUDA_ERROR_NOT_SUPPORTED) error.status = CUPOLA_ERROR_IMAGE;
        throw;
    }
}

Module::~Module() {
    const Driver* d = context.driver.alive();
    if (!d || !handle) return;
    try {
        ContextScope current(context);
        const RelaxedCapture relaxed(context.driver, RelaxedCapture::any_library);
        d->cuModuleUnload(handle);
    } catch (const Error&) {
    }
}

void Module::unload() {
    context.driver.get();  // first: a forked child must not wait for the mutex
    std::lock_guard<std::shared_mutex> lock(mutex_);
    if (!handle) return;
    require_in_no_graph();
    ContextScope current(context);
    CUPOLA_CALL(context.driver, cuCtxSynchronize);
    CUPOLA_CALL(context.driver, cuModuleUnload, handle.exchange(nullptr));
    sizes_.clear();  // the driver may reuse these handles for other functions
}

void Module::note_sizes(CUfunction function, std::vector<std::uint32_t> sizes) {
    std::lock_guard<std::shared_mutex> lock(mutex_);
    sizes_[function] = std::move(sizes);
}

bool Module::sizes_of(CUfunction function, std::vector<std::uint32_t>& sizes) const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto it = sizes_.find(function);
    if (it == sizes_.end()) return false;
    sizes = it->second;
    return true;
}

void Module::require_in_no_graph() const {
    if (any_capture())
        fail(CUPOLA_ERROR_VALUE,
             "a module can't be unloaded while a stream is being captured: the graph may "
             "use it; end the capture first");
    const bool used = RetainedObjects::any_holds(
        [this](const Object& object) { return object.belongs_to(*this); });
    if (used)
        fail(CUPOLA_ERROR_VALUE,
             "the module can't be unloaded while a graph holds its kernels: release the graph "
             "and its executable graphs first");
}

void Module::fail_unloaded() {
    fail(CUPOLA_ERROR_VALUE, "the module was unloaded: its kernels and variables are gone");
}

std::shared_lock<std::shared_mutex> Module::use() const {
    context.driver.get();  // first: a forked child must not wait for the mutex
    std::shared_lock<std::shared_mutex> lock(mutex_);
    require_loaded();
    return lock;
}

void Module::describe(std::string_view ptx) {
    context.driver.get();
    std::lock_guard<std::shared_mutex> lock(mutex_);
    ptx_ = ptx;
}

bool Module::declared(std::string_view kernel, std::vector<Parameter>& parameters) const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    return from_ptx(ptx_, kernel, parameters);
}

// The message that says why the driver got the image without a kernel.
std::string Module::omission(const ptx::ForDriver::Omitted& kernel) const {
    return title(kernel.kernel) + ": the kernel " +
           requirement_text(kernel.requirement, kernel.kernel) + "\n  " + device_text(context) +
           ": " + context.name + ", whose driver takes the PTX of CUDA " +
           version_text(context.driver->version) + newer_driver(context);
}

CUfunction Module::function(const std::string& name) {
    const auto using_it = use();
    for (const auto& each : omitted_)
        if (each.kernel == name) fail(CUPOLA_ERROR_IMAGE, omission(each));
    ContextScope current(context);
    CUfunction found = nullptr;
    CUresult code = context.driver->cuModuleGetFunction(&found, handle, name.c_str());
    // For an empty name NVIDIA's driver answers CUDA_ERROR_INVALID_VALUE.
    if (code == CUDA_ERROR_NOT_FOUND || code == CUDA_ERROR_INVALID_VALUE) return nullptr;
    if (code != CUDA_SUCCESS) fail_kernel(context.driver, code, "cuModuleGetFunction");
    return found;
}

std::vector<std::string> Module::list_names() const {
    const Driver& d = context.driver;
    std::vector<std::string> entries = entries_of(ptx_);
    std::sort(entries.begin(), entries.end());
    entries.erase(std::unique(entries.begin(), entries.end()),
                  entries.end());  // an entry may be declared and defined
    if (!d.cuModuleGetFunctionCount || !d.cuModuleEnumerateFunctions || !d.cuFuncGetName) {
        if (entries.empty())
            fail(CUPOLA_ERROR_NOT_FOUND,
                 "this driver is older than CUDA 12.4 and the image has no PTX: its kernels can't "
                 "be listed, only found by their exact names");
        return entries;
    }
    ContextScope current(context);
    unsigned count = 0;
    check(context.driver, d.cuModuleGetFunctionCount(&count, handle), "cuModuleGetFunctionCount");
    // The CPU device runs this text. To list handles it would compile all kernels and fail on an
    // invalid one. A different count means that a comment contained an entry.
    if (d.cpu && entries.size() == count) return entries;
    std::vector<CUfunction> functions(count);
    const CUresult code =
        count ? d.cuModuleEnumerateFunctions(functions.data(), count, handle) : CUDA_SUCCESS;
    if (code != CUDA_SUCCESS) fail_kernel(context.driver, code, "cuModuleEnumerateFunctions");
    std::vector<std::string> found;
    for (CUfunction function : functions) {
        const char* name = nullptr;
        check(context.driver, d.cuFuncGetName(&name, function), "cuFuncGetName");
        found.emplace_back(name);
    }
    std::sort(found.begin(), found.end());
    return found;
}

const std::vector<std::string>& Module::names() {
    context.driver.get();  // first: a forked child must not wait for the mutex
    std::lock_guard<std::shared_mutex> lock(mutex_);
    require_loaded();
    if (listed_) return names_;
    names_ = list_names();
    listed_ = true;
    return names_;
}

const std::vector<std::string>& Module::variables() {
    const Driver& d = context.driver;
    std::lock_guard<std::shared_mutex> lock(mutex_);
    require_loaded();
    if (variables_listed_) return variables_;
    if (ptx_.empty() && !declared_)
        fail(CUPOLA_ERROR_NOT_FOUND,
             "the image's variables can't be listed, only found by their names: its machine code "
             "can't be read");
    ContextScope current(context);
    for (std::string& name : ptx_.empty() ? *declared_ : ptx::declared_variables(ptx_)) {
        // Made by the compiler, or constants of a standard library, of which CCCL has hundreds.
        if (name.empty() || name[0] == '$' || is_in_reserved_scope(demangle(name))) continue;
        CUdeviceptr address = 0;
        std::size_t bytes = 0;
        if (d.cuModuleGetGlobal(&address, &bytes, handle, name.c_str()) == CUDA_SUCCESS)
            variables_.push_back(std::move(name));
    }
    std::sort(variables_.begin(), variables_.end());
    variables_.erase(std::unique(variables_.begin(), variables_.end()), variables_.end());
    variables_listed_ = true;
    return variables_;
}

std::string Module::find(const std::string& name) {
    std::vector<std::string> by_demangled, by_base;
    const std::string wanted = without_spaces(name);
    std::vector<std::string> symbols = names();
    for (const auto& each : omitted_) symbols.push_back(each.kernel);
    for (const std::string& symbol : symbols) {
        if (symbol == name) return symbol;
        const std::string demangled = demangle(symbol);
        if (demangled == symbol) continue;
        if (without_spaces(demangled) == wanted) by_demangled.push_back(symbol);
        if (base_name(demangled) == wanted || without_spaces(qualified_name(demangled)) == wanted)
            by_base.push_back(symbol);
    }
    const auto& found = by_demangled.empty() ? by_base : by_demangled;
    if (found.size() == 1) return found[0];
    if (found.size() > 1) {
        std::string text = "kernel name " + name + " is ambiguous; the candidates are:";
        for (const std::string& symbol : found) text += "\n  " + symbol + "  " + demangle(symbol);
        fail(CUPOLA_ERROR_NOT_FOUND, text);
    }
    fail(CUPOLA_ERROR_NOT_FOUND, kernel_not_found(name, symbols));
}

}  // namespace cupola
