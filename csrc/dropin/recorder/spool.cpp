// csrc/dropin/recorder/spool.cpp - writes records to a file of this process.
#include "dropin/recorder/spool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "dropin/recorder/settings.hpp"

namespace cupola::recorder {

Record& Record::number(std::uint64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
}

Record& Record::text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
    return *this;
}

void Spool::open() {
    const std::string path = settings().spool + "/" + std::to_string(getpid()) + ".spool";
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (file_ < 0) {
        std::fprintf(stderr, "cupola: %s: %s; nothing is recorded\n", path.c_str(),
                     std::strerror(errno));
        failed_ = true;
        return;
    }
    put("cupola spool 1\n");
}

void Spool::put(std::string_view bytes) {
    while (!bytes.empty() && !failed_) {
        const ssize_t written = ::write(file_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            std::fprintf(stderr, "cupola: the recording ends: %s\n", std::strerror(errno));
            failed_ = true;
            return;
        }
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

void Spool::write(Kind kind, std::string_view bytes) {
    Record head;
    head.number(static_cast<std::uint64_t>(kind)).number(bytes.size());
    if (file_ < 0 && !failed_) open();
    put(head.bytes());
    put(bytes);
}

}  // namespace cupola::recorder
