// csrc/ptx/labels.cpp - the labels of a function.
#include "ptx/labels.hpp"

namespace cupola::ptx {

void Labels::define(Function& f, const Token& name) {
    const auto index = static_cast<std::uint32_t>(f.labels.size());
    if (!scopes_.current().labels.emplace(name.text, index).second)
        tokens_.fail(name, "label '" + std::string(name.text) + "' is defined twice");
    f.labels.push_back(static_cast<std::uint32_t>(f.code.size()));
}

std::uint32_t Labels::reference(std::string_view name, std::uint32_t line) {
    references_.push_back({name, scopes_.number(), line});
    return static_cast<std::uint32_t>(references_.size() - 1);
}

void Labels::resolve(Function& f) const {
    const auto resolved = [&](std::uint32_t reference) {
        const Reference& r = references_[reference];
        if (const std::uint32_t* label = scopes_.find_label(r.name, r.scope)) return *label;
        tokens_.fail_line(r.line, "unknown name '" + std::string(r.name) + "'");
    };
    for (Operand& o : f.operands)
        if (o.kind == Operand::Kind::label) o.index = resolved(o.index);
    for (auto& table : f.tables)
        for (auto& target : table) target = resolved(target);
}

}  // namespace cupola::ptx
