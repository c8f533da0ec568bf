// csrc/ptx/scopes.cpp - the names in scope, and the frame's bytes in use.
#include "ptx/scopes.hpp"

#include <utility>

namespace cupola::ptx {

void Scopes::open() {
    NameScope scope;
    scope.parent = scope_;
    scope.frame_at = frame_at_;
    scope_ = static_cast<std::uint32_t>(scopes_.size());
    scopes_.push_back(std::move(scope));
}

void Scopes::close() {
    frame_at_ = scopes_[scope_].frame_at;
    scope_ = scopes_[scope_].parent;
    if (scope_ == 0) scopes_.resize(1);
}

const Symbol* Scopes::find(std::string_view name) const {
    for (std::uint32_t s = scope_;; s = scopes_[s].parent) {
        const auto at = scopes_[s].names.find(name);
        if (at != scopes_[s].names.end()) return &at->second;
        if (s == 0) return nullptr;
    }
}

const Symbol* Scopes::find_in_module(std::string_view name) const {
    const auto at = scopes_[0].names.find(name);
    return at == scopes_[0].names.end() ? nullptr : &at->second;
}

const Symbol* Scopes::find_register(Function& f, std::string_view name) {
    for (std::uint32_t s = scope_;; s = scopes_[s].parent) {
        auto& scope = scopes_[s];
        const auto at = scope.names.find(name);
        if (at != scope.names.end()) return &at->second;
        std::size_t digits = name.size();
        while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
        if (digits < name.size() && name.size() - digits <= 10) {
            // A prefix may itself end in digits: %r1<5> declares %r10 to %r14.
            for (const auto& range : scope.ranges) {
                if (range.prefix.size() < digits || range.prefix.size() >= name.size() ||
                    name.substr(0, range.prefix.size()) != range.prefix)
                    continue;
                const std::string_view suffix = name.substr(range.prefix.size());
                if (suffix.size() > 1 && suffix[0] == '0') continue;
                std::uint64_t number = 0;
                for (const char c : suffix) number = number * 10 + static_cast<unsigned>(c - '0');
                if (number >= range.count) continue;
                const auto index = static_cast<std::uint32_t>(f.registers.size());
                f.registers.insert(f.registers.end(), range.type.count, range.type.type);
                f.register_names.push_back({name, index, range.type.count});
                const Symbol symbol{Symbol::Kind::reg, index, range.type.count};
                return &scope.names.emplace(name, symbol).first->second;
            }
        }
        if (s == 0) return nullptr;
    }
}

const std::uint32_t* Scopes::find_label(std::string_view name, std::uint32_t scope) const {
    for (std::uint32_t s = scope; s != 0; s = scopes_[s].parent) {
        const auto at = scopes_[s].labels.find(name);
        if (at != scopes_[s].labels.end()) return &at->second;
    }
    return nullptr;
}

std::uint32_t Scopes::place(Function& f, Variable variable) {
    variable.offset = (frame_at_ + variable.align - 1) / variable.align * variable.align;
    frame_at_ = variable.offset + variable.size;
    if (frame_at_ > f.frame_bytes) f.frame_bytes = frame_at_;
    f.frame.push_back(std::move(variable));
    return static_cast<std::uint32_t>(f.frame.size() - 1);
}

}  // namespace cupola::ptx
