// csrc/cpu/device/memory/shared_file.cpp - creates and opens files that processes share.
#include "cpu/device/memory/shared_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "cpu/device/base/failure.hpp"

namespace cupola::cpu {
namespace {

constexpr char magic[8] = {'c', 'u', 'p', 'o', 'l', 'a', '\0', '\1'};
constexpr char label[] = "cupola";  // as /proc shows it
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::size_t page() {
    static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

// The type of the file is checked before the file is opened, because opening a device file can have
// side effects.
bool labelled(const std::string& path) {
    const std::string expected = std::string("/memfd:") + label + " ";
    char target[64];
    const ssize_t length = readlink(path.c_str(), target, sizeof target);
    return length >= static_cast<ssize_t>(expected.size()) &&
           std::memcmp(target, expected.data(), expected.size()) == 0;
}

}  // namespace

std::size_t in_pages(std::size_t bytes) { return (bytes + page() - 1) / page() * page(); }

std::unique_ptr<SharedFile> SharedFile::make(Use use, std::size_t size, int device,
                                             const Number& owner) {
    Text text{};
    std::memcpy(text.magic, magic, sizeof magic);
    text.use = static_cast<std::uint32_t>(use);
    text.process = getpid();
    text.size = size;
    text.device = device;
    text.owner = owner;
    require(getrandom(&text.number, sizeof text.number, 0) == sizeof text.number,
            CUDA_ERROR_OPERATING_SYSTEM);
    const int descriptor = memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    require(descriptor >= 0, errno == ENOSYS ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_OUT_OF_MEMORY);
    text.descriptor = descriptor;
    std::unique_ptr<SharedFile> file(new SharedFile(descriptor, text));
    require(ftruncate(descriptor, static_cast<off_t>(page() + file->length())) == 0 &&
                pwrite(descriptor, &text, sizeof text, 0) == sizeof text,
            CUDA_ERROR_OUT_OF_MEMORY);
    require(fcntl(descriptor, F_ADD_SEALS, seals) == 0, CUDA_ERROR_OPERATING_SYSTEM);
    return file;
}

std::unique_ptr<SharedFile> SharedFile::open(Use use, const void* name) {
    Text given;
    std::memcpy(&given, name, sizeof given);
    require(std::memcmp(given.magic, magic, sizeof magic) == 0 &&
                given.use == static_cast<std::uint32_t>(use) && given.process > 0 &&
                given.descriptor >= 0 && given.size > 0 && given.size <= SIZE_MAX / 4,
            use == Use::event ? CUDA_ERROR_MAP_FAILED : CUDA_ERROR_INVALID_VALUE);
    require(given.process != getpid() || given.owner != Number{}, CUDA_ERROR_INVALID_CONTEXT);
    const std::string path =
        "/proc/" + std::to_string(given.process) + "/fd/" + std::to_string(given.descriptor);
    require(labelled(path), CUDA_ERROR_INVALID_HANDLE);
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    require(descriptor >= 0, errno == EMFILE || errno == ENFILE ? CUDA_ERROR_OUT_OF_MEMORY
                                                                : CUDA_ERROR_INVALID_HANDLE);
    std::unique_ptr<SharedFile> file(new SharedFile(descriptor, given));
    Text there;
    require(intact(descriptor, there) && std::memcmp(&there, &given, sizeof there) == 0,
            CUDA_ERROR_INVALID_HANDLE);
    return file;
}

// If the file could shrink, an access would crash the process.
bool SharedFile::intact(int descriptor, Text& text) {
    struct stat about;
    return fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) &&
           pread(descriptor, &text, sizeof text, 0) == sizeof text &&
           std::memcmp(text.magic, magic, sizeof magic) == 0 && text.size > 0 &&
           text.size <= SIZE_MAX / 4 &&
           about.st_size == static_cast<off_t>(page() + in_pages(text.size)) &&
           (fcntl(descriptor, F_GET_SEALS) & seals) == seals;
}

std::unique_ptr<SharedFile> SharedFile::adopt(Use use, int descriptor) {
    require(descriptor >= 0 && labelled("/proc/self/fd/" + std::to_string(descriptor)),
            CUDA_ERROR_UNKNOWN);
    const int mine = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    require(mine >= 0, CUDA_ERROR_OUT_OF_MEMORY);
    Text text{};
    std::unique_ptr<SharedFile> file;
    if (intact(mine, text) && text.use == static_cast<std::uint32_t>(use))
        file.reset(new SharedFile(mine, text));
    else
        close(mine);
    require(file != nullptr, CUDA_ERROR_UNKNOWN);
    return file;
}

SharedFile::~SharedFile() { close(descriptor_); }

std::size_t SharedFile::length() const { return in_pages(text_.size); }

void* SharedFile::map() const {
    void* const memory = mmap(nullptr, length(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_,
                              static_cast<off_t>(page()));
    require(memory != MAP_FAILED, CUDA_ERROR_MAP_FAILED);
    return memory;
}

void SharedFile::map_at(void* place, std::size_t bytes) const {
    require(mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor_,
                 static_cast<off_t>(page())) == place,
            CUDA_ERROR_OUT_OF_MEMORY);
}

int SharedFile::duplicate() const {
    const int descriptor = fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
    require(descriptor >= 0, CUDA_ERROR_OUT_OF_MEMORY);
    return descriptor;
}

void SharedFile::name(void* name) const { std::memcpy(name, &text_, sizeof text_); }

}  // namespace cupola::cpu
