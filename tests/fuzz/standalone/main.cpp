// tests/fuzz/standalone/main.cpp - runs a fuzz target where libFuzzer is missing: mutates seeds,
// the same way every time. Usage: PROGRAM SECONDS SEED FILE...
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);
// libFuzzer's hook: a fuzzer may define how its inputs are changed.
extern "C" [[gnu::weak]] std::size_t LLVMFuzzerCustomMutator(unsigned char* data, std::size_t size,
                                                             std::size_t most, unsigned seed);

namespace {

class Mutator {
  public:
    Mutator(std::uint64_t seed, std::vector<std::string> corpus)
        : random_(seed), corpus_(std::move(corpus)) {
        for (const auto& text : corpus_) split(text);
    }

    std::string next() {
        std::string text = corpus_[below(corpus_.size())];
        if (!LLVMFuzzerCustomMutator) {
            change(text);
            return text;
        }
        constexpr std::size_t most = 1 << 16;
        std::vector<unsigned char> bytes(text.begin(), text.end());
        const std::size_t size = std::min(bytes.size(), most);
        bytes.resize(most);
        bytes.resize(
            LLVMFuzzerCustomMutator(bytes.data(), size, most, static_cast<unsigned>(random_())));
        return {bytes.begin(), bytes.end()};
    }

    void change(std::string& text) {
        for (std::size_t n = 1 + below(4); n > 0; --n) mutate(text);
    }

  private:
    std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }

    // Replaces words by other words of the corpus, which reaches deeper code than single bytes do.
    void split(const std::string& text) {
        std::size_t from = 0;
        for (std::size_t i = 0; i <= text.size() && words_.size() < 20000; ++i)
            if (i == text.size() ||
                std::string(" \t\n,;[](){}").find(text[i]) != std::string::npos) {
                if (i > from) words_.push_back(text.substr(from, i - from));
                from = i + 1;
            }
    }

    void mutate(std::string& text) {
        static constexpr const char* hostile[] = {
            "4294967295", "18446744073709551615", "-1", "0x7fffffffffffffff", "{", "}",
            "[",          "<4000000000>",         "0"};
        if (text.empty()) text = " ";
        const std::size_t at = below(text.size());
        switch (below(8)) {
            case 0:
                text[at] = static_cast<char>(random_());
                break;
            case 1:
                text.erase(at, 1 + below(30));
                break;
            case 2:
                text.insert(at, text.substr(below(text.size()), 1 + below(60)));
                break;
            case 3:
                text.resize(at);
                break;
            case 4:
                text.insert(at, hostile[below(sizeof(hostile) / sizeof(*hostile))]);
                break;
            case 5:
                text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
                break;
            default:
                replace_word(text, at);
                break;
        }
    }

    void replace_word(std::string& text, std::size_t at) {
        if (words_.empty()) return;
        const char* const blanks = " \t\n,;[](){}";
        const std::size_t from = text.find_first_not_of(blanks, text.find_first_of(blanks, at));
        if (from == std::string::npos) return;
        const std::size_t to = text.find_first_of(blanks, from);
        text.replace(from, to == std::string::npos ? to : to - from, words_[below(words_.size())]);
    }

    std::mt19937_64 random_;
    std::vector<std::string> corpus_, words_;
};

Mutator* mutator = nullptr;

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(unsigned char* data, std::size_t size, std::size_t most) {
    std::string text(reinterpret_cast<const char*>(data), size);
    mutator->change(text);
    text.resize(std::min(text.size(), most));
    std::copy(text.begin(), text.end(), data);
    return text.size();
}

int main(int count, char** arguments) {
    if (count < 4) {
        std::fprintf(stderr, "usage: %s SECONDS SEED FILE...\n", arguments[0]);
        return 2;
    }
    const auto seconds = std::chrono::seconds(std::atol(arguments[1]));
    std::vector<std::string> corpus;
    for (int i = 3; i < count; ++i) {
        std::ifstream file(arguments[i], std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    Mutator one(static_cast<std::uint64_t>(std::atoll(arguments[2])), std::move(corpus));
    mutator = &one;
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t runs = 0;
    double slowest = 0;
    while (std::chrono::steady_clock::now() - start < seconds) {
        const std::string text = mutator->next();
        // A copy of exactly its size, so that a read beyond it is seen.
        const auto bytes = std::make_unique<unsigned char[]>(text.size());
        std::copy(text.begin(), text.end(), bytes.get());
        if (const char* keep = std::getenv("FUZZ_KEEP"))
            std::ofstream(keep, std::ios::binary) << text;
        const auto before = std::chrono::steady_clock::now();
        LLVMFuzzerTestOneInput(bytes.get(), text.size());
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
        slowest = std::max(slowest, took.count());
        ++runs;
    }
    std::printf("%llu inputs, the slowest took %.3f s\n", static_cast<unsigned long long>(runs),
                slowest);
    return 0;
}
