// tests/fuzz/registration_fuzz.cpp - what nvcc's host code passes to libcudart, in any order and
// with any content: images, kernels, variables and launch configurations. The driver behind it is a
// table whose answers come from the input, too.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "dropin/cudart/driver.cpp"
#include "dropin/cudart/registry.cpp"
#include "dropin/cudart/runtime.cpp"

#include "dropin/cudart/registration.cpp"

const int cupola::cudart::runtime_major = 13;

namespace {

using namespace cupola::cudart;

class Bytes {
  public:
    Bytes(const unsigned char* data, std::size_t size) : data_(data), size_(size) {}
    unsigned char take() {
        if (!size_) return 0;
        --size_;
        return *data_++;
    }
    std::string text() {
        std::string text(take() % 16, ' ');
        for (char& c : text) c = static_cast<char>(take());
        return text.c_str();
    }
    bool empty() const { return size_ == 0; }

  private:
    const unsigned char* data_;
    std::size_t size_;
};

Bytes* input = nullptr;
// Handles of the driver: each is memory of its own, so that AddressSanitizer sees a late use.
std::vector<std::unique_ptr<char>> handles;

CUresult answer() {
    constexpr CUresult errors[] = {CUDA_ERROR_NOT_FOUND, CUDA_ERROR_INVALID_IMAGE,
                                   CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_OUT_OF_MEMORY};
    const unsigned char byte = input->take();
    return byte < 192 ? CUDA_SUCCESS : errors[byte % 4];
}

template <class Handle>
CUresult hand_out(Handle* handle) {
    const CUresult result = answer();
    if (result != CUDA_SUCCESS) return result;
    handles.push_back(std::make_unique<char>());
    *handle = reinterpret_cast<Handle>(handles.back().get());
    return result;
}

CUresult get_current(CUcontext* context) {
    static char current;
    *context = reinterpret_cast<CUcontext>(&current);
    return CUDA_SUCCESS;
}

CUresult load_library(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                      CUlibraryOption*, void**, unsigned) {
    if (!code) std::abort();
    return hand_out(library);
}

CUresult unload_library(CUlibrary library) {
    if (!library) std::abort();
    return answer();
}

CUresult get_kernel(CUkernel* kernel, CUlibrary library, const char* name) {
    if (!library || std::strlen(name) > 16) std::abort();
    return hand_out(kernel);
}

CUresult get_variable(CUdeviceptr* address, std::size_t* bytes, CUlibrary library, const char*) {
    if (!library) std::abort();
    *bytes = 8;
    return hand_out(address);
}

CUresult create_link(unsigned, CUjit_option*, void**, CUlinkState* state) {
    return hand_out(state);
}

CUresult add_to_link(CUlinkState, CUjitInputType, void* data, std::size_t, const char*, unsigned,
                     CUjit_option*, void**) {
    if (!data) std::abort();
    return answer();
}

CUresult complete_link(CUlinkState, void** code, std::size_t* bytes) {
    *bytes = 1;
    return hand_out(code);
}

CUresult exchange_mode(CUstreamCaptureMode*) { return CUDA_SUCCESS; }

CUresult destroy_link(CUlinkState) { return CUDA_SUCCESS; }

CUresult succeed(unsigned) { return CUDA_SUCCESS; }

CUresult count_devices(int* count) {
    *count = 1;
    return CUDA_SUCCESS;
}

// A table in the place of the one that load_driver fills.
void set_driver() {
    for (Driver& d : driver_tables) {
        d.Init = succeed;
        d.DeviceGetCount = count_devices;
        d.CtxGetCurrent = get_current;
        d.LibraryLoadData = load_library;
        d.LibraryUnload = unload_library;
        d.LibraryGetKernel = get_kernel;
        d.LibraryGetGlobal = get_variable;
        d.LibraryGetManaged = get_variable;
        d.LinkCreate = create_link;
        d.LinkAddData = add_to_link;
        d.LinkComplete = complete_link;
        d.LinkDestroy = destroy_link;
        d.ThreadExchangeStreamCaptureMode = exchange_mode;
    }
}

// Addresses of host functions and variables: a managed one is set to its place.
void* hosts[24];

struct Given {
    Wrapper wrapper;
    std::vector<const void*> linked;
    void** handle;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    Bytes bytes(data, size);
    input = &bytes;
    set_driver();
    this_thread.generation = 1;  // as if the driver were loaded and this thread had a context
    static const char code[16] = {};
    std::vector<std::unique_ptr<Given>> given;
    const auto some_image = [&]() -> void** {
        return given.empty() ? nullptr : given[bytes.take() % given.size()]->handle;
    };
    while (!bytes.empty()) {
        void* const host = &hosts[bytes.take() % 24];
        switch (bytes.take() % 10) {
            case 0: {
                auto made = std::make_unique<Given>();
                const unsigned char kind = bytes.take();
                made->linked.assign(kind % 4, code);
                made->linked.push_back(nullptr);
                made->wrapper = {kind & 64 ? Wrapper::known_magic + 1 : Wrapper::known_magic,
                                 kind % 8, kind & 32 ? nullptr : code,
                                 kind & 16 ? nullptr : made->linked.data()};
                made->handle = __cudaRegisterFatBinary(kind & 128 ? nullptr : &made->wrapper);
                given.push_back(std::move(made));
                break;
            }
            case 1:
                __cudaRegisterFunction(some_image(), static_cast<const char*>(host), nullptr,
                                       bytes.text().c_str(), -1, nullptr, nullptr, nullptr, nullptr,
                                       nullptr);
                break;
            case 2:
                __cudaRegisterVar(some_image(), static_cast<char*>(host), nullptr,
                                  bytes.text().c_str(), 0, bytes.take(), 0, 0);
                break;
            case 3:
                __cudaRegisterManagedVar(some_image(), static_cast<void**>(host), nullptr,
                                         bytes.text().c_str(), 0, bytes.take(), 0, 0);
                break;
            case 4:
                __cudaInitModule(some_image());
                break;
            case 5:
                if (!given.empty()) {
                    const std::size_t n = bytes.take() % given.size();
                    __cudaUnregisterFatBinary(given[n]->handle);
                    given.erase(given.begin() + static_cast<std::ptrdiff_t>(n));
                }
                break;
            case 6: {
                cudaKernel_t kernel = nullptr;
                if (__cudaGetKernel(&kernel, host) == cudaSuccess)
                    Registry::get().host_of(reinterpret_cast<CUkernel>(kernel));
                break;
            }
            case 7: {
                CUdeviceptr address = 0;
                std::size_t count = 0;
                Registry::get().find_variable(host, address, count);
                break;
            }
            case 8:
                __cudaPushCallConfiguration(dim3(), dim3(), bytes.take(), nullptr);
                break;
            default: {
                dim3 grid, block;
                std::size_t shared = 0;
                void* stream = nullptr;
                __cudaPopCallConfiguration(&grid, &block, &shared, &stream);
            }
        }
    }
    for (const auto& each : given) __cudaUnregisterFatBinary(each->handle);
    handles.clear();
    return 0;
}
