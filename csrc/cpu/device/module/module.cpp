// csrc/cpu/device/module/module.cpp - selects and builds the PTX of an image; functions and their
// attributes.
#include "cpu/device/module/module.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cpu/compiler/machine_code.hpp"
#include "cpu/coverage/counts.hpp"
#include "cpu/device/base/load_error.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/texture/texture_reference.hpp"
#include "cpu/interpreter/lazy_kernels.hpp"
#include "image/choice.hpp"
#include "platform/demangle.hpp"
#include "ptx/contract_fma.hpp"
#include "ptx/error.hpp"
#include "ptx/register_limit.hpp"

namespace cupola::cpu {
namespace {

// Larger PTX is parsed lazily: parsing takes too long for kernels that may never be launched.
constexpr std::size_t much_ptx = 64 * 1024;

std::string architectures(const std::vector<image::Entry>& entries, image::Kind kind) {
    std::string list;
    for (const auto& entry : entries)
        if (entry.kind == kind) list += " " + image::target_name(entry);
    return list;
}

// Selects the entry whose PTX runs here, or sets the reason why there is none.
const image::Entry& choose(const std::vector<image::Entry>& entries, int capability, bool alone,
                           JitOptions& options) {
    const auto found = image::candidates(entries, {capability, 0, false});
    if (!found.empty()) return *found.front().entry;
    const std::string newer = architectures(entries, image::Kind::ptx);
    const std::string machine = architectures(entries, image::Kind::cubin);
    // As in NVIDIA's driver, a bare PTX text fails in the assembler, a fatbin in the selection.
    const bool bare = entries.size() == 1 && !newer.empty() && alone;
    if (!newer.empty())
        options.errors = "cupola: the image's PTX (" + newer.substr(1) +
                         ") is for other devices than this one (compute capability " +
                         std::to_string(capability) + "); compile it for compute_" +
                         std::to_string(capability) + " or lower";
    else if (!machine.empty())
        options.errors = "cupola: the image has no PTX, only machine code for a GPU (" +
                         machine.substr(1) +
                         "), which cannot run on the CPU device; compile it with PTX";
    else
        options.errors = "cupola: the image has no code";
    fail(bare ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_NO_BINARY_FOR_GPU);
}

// Decompressed PTX is stored in `unpacked`.
std::string_view text_of(const image::Entry& entry, std::string& unpacked, JitOptions& options) {
    if (!entry.compressed) return entry.payload;
    try {
        unpacked = image::unpack(entry);
    } catch (const image::Error& error) {
        options.errors = std::string("cupola: the image's PTX is compressed: ") + error.what();
        fail(CUDA_ERROR_INVALID_IMAGE);
    }
    return std::string_view(unpacked).substr(0, unpacked.find('\0'));
}

// Where CUPOLA_CPU_MODE compiles before the first launch, a kernel without machine code is an
// error; it is not interpreted.
void compile_now(const Kernel& kernel, Mode mode) {
    if (!compiler::compile_before_launch({&kernel}, mode)) return;
    const std::string state = compiler::state_of(kernel);
    if (state != (mode == Mode::quick ? compiler::compiled_quickly : compiler::compiled))
        fail_load(CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
                  "cupola: kernel " + title(kernel.name()) + " is not compiled: " + state);
}

}  // namespace

std::string_view image_at(const void* address) {
    require(address != nullptr);
    // nvcc's wrapper in host objects: struct { int magic, version; const void* data; ... }.
    std::uint32_t magic;
    std::memcpy(&magic, address, 1);
    if ((magic & 0xff) == 0xb1) {
        std::memcpy(&magic, address, sizeof magic);
        if (magic == 0x466243b1) {
            std::memcpy(&address, static_cast<const char*>(address) + 8, sizeof address);
            require(address != nullptr, CUDA_ERROR_INVALID_IMAGE);
        }
    }
    return {static_cast<const char*>(address), image::size_of(address)};
}

bool loads_eagerly() {
    const char* mode = std::getenv("CUDA_MODULE_LOADING");
    return mode && std::string_view(mode) == "EAGER";
}

std::shared_ptr<Image> build_image(std::string_view bytes, Device& device, JitOptions& options,
                                   bool contract) {
    const int capability = device.capability().number;
    struct Finish {
        JitOptions& options;
        ~Finish() { options.finish(); }
    } finish{options};
    Image::Memory memory;
    memory.allocate = [&device](std::size_t size, std::size_t align) {
        Allocation like;
        like.device = device.ordinal();
        like.module = true;
        const auto begin = device.driver().memory.allocate(like, size, align, device.budget());
        auto* const there = reinterpret_cast<void*>(begin);
        std::memset(there, 0, size);
        return there;
    };
    memory.release = [&device](void* there) {
        device.driver().memory.release(reinterpret_cast<std::uintptr_t>(there), device.budget());
    };
    try {
        const auto entries = image::read(bytes.data(), bytes.size());
        const bool alone = image::detect_kind(bytes.data(), bytes.size()) == image::Kind::ptx;
        const image::Entry& entry = choose(entries, capability, alone, options);
        std::string unpacked;
        std::string_view ptx = text_of(entry, unpacked, options);
        if (const unsigned limit = options.register_limit()) {
            unpacked = ptx::limit_registers(ptx, limit);
            ptx = unpacked;
        }
        if (!contract || !options.contracts() || !device.driver().settings.fma) {
            unpacked = ptx::forbid_contraction(ptx);
            ptx = unpacked;
        }
        // Counters belong to the whole module.
        const bool counted = coverage::is_on() && ptx.find(".loc") != std::string_view::npos;
        if (ptx.size() >= much_ptx && !loads_eagerly() && !counted)
            if (auto image = LazyImage::build(ptx, memory)) return image;
        std::shared_ptr<Image> image = Image::build(ptx, std::move(memory));
        compiler::compile_before_launch(image->kernels(), device.driver().settings.mode);
        return image;
    } catch (const image::Error& error) {
        options.errors = std::string("cupola: ") + error.what();
        fail(CUDA_ERROR_INVALID_IMAGE);
    } catch (const ptx::Error& error) {
        options.errors = std::string("cupola: PTX ") + error.what();
        fail_load(error);
    }
}

std::vector<std::string> kernel_names(const Image& image) {
    if (const auto* lazy = dynamic_cast<const LazyImage*>(&image)) return lazy->names();
    std::vector<std::string> names;
    for (const Kernel* kernel : image.kernels()) names.push_back(kernel->name());
    return names;
}

const Kernel& read_kernel(const Image& image, const std::string& name) {
    try {
        const Kernel* kernel = image.kernel(name);
        require(kernel != nullptr, CUDA_ERROR_NOT_FOUND);
        return *kernel;
    } catch (const ptx::Error& error) {
        fail_load(error);
    }
}

Module::Module(std::shared_ptr<Context> context, std::shared_ptr<Image> image)
    : context_(std::move(context)), image_(std::move(image)), names_(kernel_names(*image_)) {
    functions_.resize(names_.size());
    for (const Variable& v : image_->variables())
        if (v.role != Variable::Role::data && !references_)
            references_ = std::make_shared<const References>(*context_, *image_);
    for (std::size_t n = 0; n < names_.size(); ++n) indices_.emplace(names_[n], n);
}

std::shared_ptr<Module> Module::make(std::shared_ptr<Context> context, std::shared_ptr<Image> image,
                                     SetAttributes set_attributes) {
    auto module = std::make_shared<Module>(std::move(context), std::move(image));
    module->set_attributes_ = std::move(set_attributes);
    module->context_->driver().modules.add(module);
    return module;
}

void Module::close() {
    Driver& driver = context_->driver();
    {
        std::lock_guard lock(mutex_);
        closed_ = true;
        for (const auto& function : functions_)
            if (function) driver.functions.remove(function.get());
    }
    if (references_) references_->forget();
    driver.modules.remove(this);
}

void Module::close_all(const Context& context) {
    Driver& driver = context.driver();
    const auto mine = [&](const auto& object) { return object.context() == &context; };
    // A closed module creates no more functions.
    for (const auto& module : driver.modules.remove_if(mine)) module->close();
    driver.functions.remove_if(mine);
}

std::shared_ptr<Function> Module::function(std::string_view name) {
    const auto at = indices_.find(name);
    require(at != indices_.end(), CUDA_ERROR_NOT_FOUND);
    return function(at->second);
}

std::vector<std::shared_ptr<Function>> Module::functions() {
    std::vector<std::shared_ptr<Function>> all;
    for (std::size_t n = 0; n < names_.size(); ++n) all.push_back(function(n));
    return all;
}

std::shared_ptr<Function> Module::function(std::size_t index) {
    std::lock_guard lock(mutex_);
    require(!closed_, CUDA_ERROR_INVALID_HANDLE);
    return make_function(index);
}

std::shared_ptr<Function> Module::function_at(std::uint64_t address) {
    const auto at = indices_.find(image_->kernel_at(address));
    if (at == indices_.end()) return nullptr;
    std::lock_guard lock(mutex_);
    return make_function(at->second);
}

std::shared_ptr<Function> Module::make_function(std::size_t index) {
    auto& function = functions_[index];
    if (function) return function;
    const Kernel& kernel = read_kernel(*image_, names_[index]);
    const Mode mode = context_->driver().settings.mode;
    if (mode == Mode::ahead || mode == Mode::automatic)
        compiler::load_compiled(kernel, mode == Mode::automatic);
    compile_now(kernel, mode);
    auto made = std::make_shared<Function>(*this, image_, kernel);
    if (set_attributes_) set_attributes_(*made);
    if (!closed_) context_->driver().functions.add(made);
    return function = std::move(made);
}

Function::Function(Module& module, std::shared_ptr<Image> image, const Kernel& kernel)
    : attributes(kernel),
      image_(std::move(image)),
      references_(module.references()),
      module_(module.handle()),
      owner_(module.weak_from_this()),
      context_(module.context()),
      device_(module.context()->device()),
      kernel_(kernel) {
    for (const Parameter& parameter : kernel.parameters())
        parameter_bytes_ =
            std::max<std::size_t>(parameter_bytes_, parameter.offset + parameter.size);
}

unsigned Function::cluster_limit() const {
    const unsigned device = device_.capability().cluster_limit(attributes.non_portable_cluster());
    return kernel_.max_cluster() ? std::min(kernel_.max_cluster(), device) : device;
}

FunctionAttributes::FunctionAttributes(const Kernel& kernel)
    : dynamic_limit_(std::max(
          0, Capability::shared_per_block - static_cast<int>(kernel.static_shared_bytes()))) {}

FunctionAttributes& FunctionAttributes::operator=(const FunctionAttributes& other) {
    if (&other == this) return *this;
    dynamic_limit_ = other.dynamic_limit_.load();
    carveout_ = other.carveout_.load();
    non_portable_ = other.non_portable_.load();
    policy_ = other.policy_.load();
    for (int axis = 0; axis < 3; ++axis) cluster_[axis] = other.cluster_[axis].load();
    return *this;
}

Dim3 FunctionAttributes::required_cluster(const Kernel& kernel) const {
    const Dim3 own = kernel.required_cluster();
    if (own.x) return own;
    return {static_cast<unsigned>(cluster_[0]), static_cast<unsigned>(cluster_[1]),
            static_cast<unsigned>(cluster_[2])};
}

int FunctionAttributes::get(CUfunction_attribute attribute, const Kernel& kernel,
                            const Device& device) const {
    switch (static_cast<int>(attribute)) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            // .reqntid does not lower the maximum: launches with other block sizes fail.
            return kernel.required_block().x ? Capability::threads_per_block
                                             : static_cast<int>(kernel.max_threads());
        case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
            return static_cast<int>(kernel.static_shared_bytes());
        case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
            return static_cast<int>(kernel.constant_bytes());
        case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
            return static_cast<int>(kernel.local_bytes());
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
            return static_cast<int>(kernel.registers());
        case CU_FUNC_ATTRIBUTE_PTX_VERSION:
            return kernel.target();
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
            return device.capability().number;
        case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
            return 0;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            return dynamic_limit_;
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            return carveout_;
        case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
            return kernel.explicit_cluster();
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
            return static_cast<int>(required_cluster(kernel).x);
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
            return static_cast<int>(required_cluster(kernel).y);
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
            return static_cast<int>(required_cluster(kernel).z);
        case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
            return non_portable_;
        case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
            return policy_;
        default:
            fail(CUDA_ERROR_INVALID_VALUE);
    }
}

void FunctionAttributes::set(CUfunction_attribute attribute, int value, const Kernel& kernel,
                             const Device& device) {
    switch (static_cast<int>(attribute)) {
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            require(value >= 0 && value <= device.capability().shared_per_block_optin -
                                               static_cast<int>(kernel.static_shared_bytes()));
            dynamic_limit_ = value;
            return;
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            require(value >= -1 && value <= 100);
            carveout_ = value;
            return;
        case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
            require(value == 0 || value == 1);
            non_portable_ = value;
            return;
        case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
            require(value >= 0 && value <= CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING);
            policy_ = value;
            return;
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
            require(value >= 0);
            // cuda.h documents NOT_PERMITTED for a kernel with a fixed shape. NVIDIA's driver
            // accepts the current value and returns INVALID_VALUE for others.
            if (const Dim3 own = kernel.required_cluster(); own.x != 0) {
                const unsigned axes[] = {own.x, own.y, own.z};
                require(static_cast<unsigned>(value) ==
                        axes[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH]);
                return;
            }
            cluster_[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = value;
            return;
        default:
            fail(CUDA_ERROR_INVALID_VALUE);
    }
}

CUresult parameter_info(const Kernel& kernel, std::size_t index, std::size_t* offset,
                        std::size_t* size) {
    require(offset != nullptr);
    const auto& parameters = kernel.parameters();
    require(index < parameters.size());
    *offset = parameters[index].offset;
    if (size) *size = parameters[index].size;
    return CUDA_SUCCESS;
}

}  // namespace cupola::cpu
