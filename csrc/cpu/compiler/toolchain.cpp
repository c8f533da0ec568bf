// csrc/cpu/compiler/toolchain.cpp - the compiler and the cache of this process.
#include "cpu/compiler/toolchain.hpp"

#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "cpu/base/sha256.hpp"
#include "cpu/compiler/semantics.hpp"

namespace cupola::cpu::compiler {
namespace {

std::atomic<std::size_t> processor_count{1};
std::atomic<const Cache*> opened{nullptr};

// Never destroyed: threads outlive static objects.
struct ProcessIdentity {
    std::mutex running;  // locked before `mutex`
    std::mutex mutex;
    std::string text;
    bool run = false;
};
ProcessIdentity& identity_of_process() {
    static auto* one = new ProcessIdentity;
    return *one;
}

std::string note_key() { return sha256("compiler\n" + compiler().file); }

bool write_file(const std::string& path, std::string_view first, std::string_view second) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return false;
    int error = 0;
    for (std::string_view text : {first, second})
        while (error == 0 && !text.empty()) {
            const ssize_t wrote = write(file, text.data(), text.size());
            if (wrote > 0)
                text.remove_prefix(static_cast<std::size_t>(wrote));
            else
                error = errno;
        }
    if (close(file) != 0 && error == 0) error = errno;
    if (error != 0) unlink(path.c_str());
    errno = error;
    return error == 0;
}

}  // namespace

void set_processors(std::size_t count) { processor_count.store(count); }
std::size_t processors() { return processor_count.load(); }

std::string objection_to_compiling() {
    return getauxval(AT_SECURE) == 0 ? ""
                                     : "a program with more rights than its user's runs no "
                                       "compiler of the user's choice";
}

const Compiler& compiler() {
    static const auto& one = *new Compiler(Compiler::find());
    return one;
}

const Cache& cache() {
    static const auto* made = new Cache;
    opened.store(made);
    return *made;
}

const Cache* existing_cache() {
    static const auto* found = Cache::find().release();
    const Cache* made = opened_cache();
    return made ? made : found;
}

const Cache* opened_cache() { return opened.load(); }

std::string identity() {
    ProcessIdentity& all = identity_of_process();
    std::lock_guard running(all.running);
    if (all.run) return cached_identity(cache());
    // Runs the compiler without `all.mutex`: a lookup of a function must not wait for it.
    const std::string version = compiler().version(), text = compiler().file + "\n" + version;
    {
        std::lock_guard lock(all.mutex);
        all.text = text;
        all.run = true;
    }
    std::int64_t age;
    const std::string key = note_key();
    // Refreshes an old note, so that the note is not removed. A compiler that prints nothing may
    // have been killed.
    constexpr std::int64_t day = 24 * 3600;
    if (!version.empty() && (cache().note(key, age) != text || age > day))
        cache().write_note(key, text);
    return text;
}

std::string cached_identity(const Cache& cache) {
    ProcessIdentity& all = identity_of_process();
    std::lock_guard lock(all.mutex);
    std::int64_t age;
    if (all.text.empty()) all.text = cache.note(note_key(), age);
    return all.text;
}

namespace {

std::string all_flags(Tier tier) {
    std::string text;
    for (const auto& flag : flags(device_level(), tier)) text += flag + " ";
    return text;
}

// The semantics as a header that the compiler precompiles; empty if the compiler cannot. clang
// refuses a precompiled header if the time stamp of its source has changed.
std::string shared_header() {
    const std::string about = identity();
    if (about.find("Free Software Foundation") == std::string::npos) return "";
    const std::string key = sha256("header\n" + about + "\n" + all_flags(Tier::full) + "\n" +
                                   std::string(semantics_hash()));
    return cache().header(key, semantics());
}

}  // namespace

std::string key_of(const Job& job, const std::string& identity) {
    const std::string text = identity + "\n" + all_flags(job.tier) + "\n" +
                             std::string(semantics_hash()) + "\n" + job.source.text();
    const std::string hint = job.slots.size() == 1 ? job.hint : sha256(job.hint);
    return hint.substr(0, Cache::hint_digits) +
           sha256(text).substr(0, Cache::key_digits - Cache::hint_digits);
}

bool write_source(const Job& job, Sources& sources, std::string& stem, std::string& why) {
    static std::atomic<unsigned> made{0};
    sources.level = device_level();
    sources.tier = job.tier;
    sources.count = job.source.files(processors());
    sources.header = shared_header();
    const std::string text = job.source.text(sources.count);
    bool written;
    // An earlier process with this process id, or a process in another container, may have left
    // files.
    do {
        stem = cache().folder() + "/" + std::to_string(getpid()) + "." + std::to_string(made++);
        sources.file = stem + ".cpp";
        written = write_file(sources.file, sources.header.empty() ? semantics() : "", text);
    } while (!written && errno == EEXIST);
    if (!written)
        why = std::string("a source can't be written to ") + cache().folder() + ": " +
              std::strerror(errno);
    else
        unlink((stem + ".made").c_str());
    return written;
}

}  // namespace cupola::cpu::compiler
