// csrc/cpu/interpreter/lazy_decode.cpp - decodes the kernels of a PTX module on first use.
#include "cpu/interpreter/lazy_kernels.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "cpu/interpreter/decode.hpp"
#include "cpu/interpreter/variable_layout.hpp"
#include "ptx/contract_fma.hpp"
#include "ptx/error.hpp"
#include "ptx/lexer.hpp"
#include "ptx/outline.hpp"

namespace cupola::cpu {
namespace interpreter {
namespace {

// The common part is parsed again for each kernel.
constexpr std::size_t max_common_bytes = 32 * 1024;

// A copy of a large text, NUL-terminated. Its pages are mapped at once: page faults one by one
// would take longer than the rest of the load.
class Text {
  public:
    explicit Text(std::string_view text)
        : size_(text.size()),
          there_(mmap(nullptr, size_ + 1, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)) {
        if (there_ == MAP_FAILED) throw std::bad_alloc();
        std::memcpy(there_, text.data(), size_);
    }
    Text(const Text&) = delete;
    Text& operator=(const Text&) = delete;
    ~Text() { munmap(there_, size_ + 1); }
    std::string_view view() const { return {static_cast<const char*>(there_), size_}; }

  private:
    const std::size_t size_;
    void* const there_;
};

bool holds(std::string_view text, std::string_view wanted) {
    return memmem(text.data(), text.size(), wanted.data(), wanted.size()) != nullptr;
}

bool has_kernel(const ptx::Module& module) {
    return std::any_of(module.functions.begin(), module.functions.end(),
                       [](const ptx::Function& f) { return f.entry && f.defined; });
}

class Deferred final : public LazyImage {
  public:
    // `common`: the outline's common part, parsed.
    Deferred(std::unique_ptr<const Text> source, ptx::Outline outline, const ptx::Module& common,
             Memory memory)
        : source_(std::move(source)), outline_(std::move(outline)), placed_(std::move(memory)) {
        placed_.lay_out_variables(common, source_->view(), true);
        for (const auto& entry : outline_.entries) {
            names_.emplace_back(entry.name);
            entries_.emplace(entry.name, names_.size() - 1);
        }
        decoded_.resize(names_.size());
    }

    const std::vector<std::string>& names() const override { return names_; }

    const std::vector<const Kernel*>& kernels() const override {
        std::lock_guard lock(mutex_);
        if (list_.size() != names_.size()) {
            std::vector<const Kernel*> all;
            for (std::size_t n = 0; n < names_.size(); ++n) all.push_back(decode(n));
            list_ = std::move(all);
        }
        return list_;
    }
    const Kernel* kernel(std::string_view name) const override {
        const auto at = entries_.find(name);
        if (at == entries_.end()) return nullptr;
        std::lock_guard lock(mutex_);
        return decode(at->second);
    }

    const std::vector<Variable>& variables() const override { return placed_.variables(); }
    std::string kernel_at(std::uint64_t address) const override {
        std::lock_guard lock(mutex_);
        return placed_.kernel_at(address);
    }
    const Variable* variable(std::string_view name) const override {
        return placed_.variable(name);
    }

  private:
    const Kernel* decode(std::size_t n) const {
        if (decoded_[n]) return decoded_[n].get();
        std::vector<ptx::Piece> pieces = outline_.common;
        pieces.push_back(outline_.entries[n].piece);
        ptx::Module module = parse(n, pieces);
        ptx::contract_fma(module);
        const Placement placement = placed_.extended(module, source_->view());
        const CallGraph graph(module);
        const DecodedModule shared{module, source_->view(), placement, graph, handlers_};
        for (std::uint32_t f = 0; f < module.functions.size(); ++f)
            if (module.functions[f].entry && module.functions[f].defined &&
                module.functions[f].name == names_[n])
                decoded_[n] = interpreter::decode(shared, f);
        if (decoded_[n]) decoded_[n]->source = source_->view();
        if (!decoded_[n])
            throw ptx::Error(ptx::Error::Kind::invalid, outline_.entries[n].piece.line, "",
                             "kernel '" + names_[n] + "' is not defined");
        return decoded_[n].get();
    }

    ptx::Module parse(std::size_t n, const std::vector<ptx::Piece>& pieces) const {
        try {
            return ptx::parse(source_->view(), pieces);
        } catch (const ptx::Error&) {
            // It may take addresses of other kernels: declare those with empty bodies.
            const std::vector<std::string> others = kernels_named_in(n);
            if (others.empty()) throw;
            std::vector<ptx::Piece> all(pieces.begin(), pieces.end() - 1);
            for (const std::string& other : others) all.push_back({other, pieces.back().line});
            all.push_back(pieces.back());
            return ptx::parse(source_->view(), all);
        }
    }

    std::vector<std::string> kernels_named_in(std::size_t n) const {
        std::vector<std::string> found;
        std::unordered_set<std::string_view> seen{outline_.entries[n].name};
        for (const ptx::Token& token : ptx::lex(outline_.entries[n].piece.text)) {
            if (token.kind != ptx::Token::Kind::word) continue;
            const auto at = entries_.find(token.text);
            if (at == entries_.end() || !seen.insert(token.text).second) continue;
            const std::string_view text = outline_.entries[at->second].piece.text;
            for (const ptx::Token& other : ptx::lex(text)) {
                if (other.kind != ptx::Token::Kind::mark || other.mark != '{') continue;
                const auto head = static_cast<std::size_t>(other.text.data() - text.data());
                found.push_back(std::string(text.substr(0, head)) + "{ ret; }");
                break;
            }
        }
        return found;
    }

    const std::unique_ptr<const Text> source_;  // the outline's pieces point into it
    const ptx::Outline outline_;
    std::vector<std::string> names_;
    std::unordered_map<std::string_view, std::size_t> entries_;
    mutable std::mutex mutex_;
    mutable VariableLayout placed_;
    mutable HandlerCache handlers_;
    mutable std::vector<std::shared_ptr<KernelCode>> decoded_;
    mutable std::vector<const Kernel*> list_;
};

}  // namespace
}  // namespace interpreter

std::shared_ptr<LazyImage> LazyImage::build(std::string_view ptx, Memory memory) {
    if (interpreter::holds(ptx, ".callprototype") || interpreter::holds(ptx, ".calltargets"))
        return nullptr;
    auto source = std::make_unique<const interpreter::Text>(ptx);
    auto found = ptx::outline(source->view());
    if (!found || found->entries.empty() || found->common_bytes > interpreter::max_common_bytes)
        return nullptr;
    ptx::Module common;
    try {
        common = ptx::parse(source->view(), found->common);
    } catch (const ptx::Error&) {
        return nullptr;  // it may name kernels; the other loader reports errors of the text
    }
    // Otherwise a kernel that the outline missed would be lost.
    if (interpreter::has_kernel(common)) return nullptr;
    return std::make_shared<interpreter::Deferred>(std::move(source), std::move(*found), common,
                                                   std::move(memory));
}

}  // namespace cupola::cpu
