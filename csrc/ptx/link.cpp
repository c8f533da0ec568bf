// csrc/ptx/link.cpp - joins PTX texts statement by statement. Text is untrusted.
#include "ptx/link.hpp"

#include <list>
#include <map>
#include <set>

#include "ptx/error.hpp"
#include "ptx/link_sections.hpp"
#include "ptx/link_unit.hpp"

namespace cupola::ptx {

// Chosen is outside the unnamed namespace: Linker::Inputs has members of this type.
struct Chosen {
    const Unit* unit;
    const Statement* statement;
};

namespace {

unsigned rank(const Statement& s) {
    return s.linkage == Linkage::visible ? 3 : s.linkage == Linkage::weak ? 2 : 1;
}

// Whether a definition replaces the chosen one.
bool stronger(const Unit& unit, const Statement& s, std::string_view name, const Chosen& before) {
    const unsigned mine = rank(s), its = rank(*before.statement);
    const bool strong = mine == 3 && its == 3;
    const bool values = mine == 1 && its == 1 && s.initialised && before.statement->initialised;
    if (strong || values)
        unit.fail(s.kind, "'" + std::string(name) + "' is defined more than once",
                  Error::Kind::duplicate_definition);
    if (mine != its) return mine > its;
    // Among common variables the one with a value wins, otherwise the largest.
    return mine == 1 && !before.statement->initialised &&
           (s.initialised || s.bytes > before.statement->bytes);
}

// Checks a declaration, or a definition that was not chosen, against the chosen definition.
void check_alike(const Unit& unit, const Statement& s, std::string_view name,
                 const Chosen& chosen) {
    const Statement& its = *chosen.statement;
    const std::string what = "'" + std::string(name) + "' ";
    if (s.function != its.function)
        unit.fail(s.kind, what + "is a " + (s.function ? "function" : "variable") +
                              " here, but a " + (its.function ? "function" : "variable") +
                              " where it is defined");
    // NVIDIA's linker ignores a declaration that nothing uses.
    if (!s.defines && unit.count(name) == 1) return;
    if (s.function) {
        if (s.signature != its.signature)
            unit.fail(
                s.kind,
                what +
                    "is declared here with other parameters or results than where it is defined");
        return;
    }
    if (unit.kind(s) != chosen.unit->kind(its))
        unit.fail(s.kind, what + "is in " + std::string(unit.kind(s)) + " here, but in " +
                              std::string(chosen.unit->kind(its)) + " where it is defined");
    const bool common = s.linkage == Linkage::common || its.linkage == Linkage::common;
    if (!common && s.bytes != 0 && its.bytes != 0 && s.bytes != its.bytes)
        unit.fail(s.kind, what + "has " + std::to_string(s.bytes) + " bytes here, but " +
                              std::to_string(its.bytes) + " where it is defined");
}

}  // namespace

struct Linker::Inputs {
    struct Input {
        explicit Input(std::string_view bytes) : text(bytes), unit(text) {}

        const std::string text;
        const Unit unit;  // holds views of the text
    };

    std::list<Input> all;
    std::map<std::string_view, Chosen> defined;  // the chosen definitions
    std::set<std::string_view> shared;           // names that are not local to a text
    std::set<std::string_view> words;
};

Linker::Linker() : inputs_(std::make_unique<Inputs>()) {}
Linker::~Linker() = default;

bool Linker::empty() const { return inputs_->all.empty(); }

void Linker::add(std::string_view text) {
    auto& [all, defined, shared, words] = *inputs_;
    std::list<Inputs::Input> added;
    const Unit& unit = added.emplace_back(text).unit;
    auto chosen = defined;
    for (const Statement& s : unit.statements) {
        if (!s.defines || s.linkage == Linkage::own || s.linkage == Linkage::external) continue;
        for (const std::string_view name : s.names) {
            const auto [at, fresh] = chosen.emplace(name, Chosen{&unit, &s});
            if (!fresh && stronger(unit, s, name, at->second)) at->second = {&unit, &s};
        }
    }
    // The following statements throw no Error.
    defined = std::move(chosen);
    for (const Statement& s : unit.statements)
        if (s.linkage != Linkage::own) shared.insert(s.names.begin(), s.names.end());
    unit.collect_words(words);
    all.splice(all.end(), added);
}

std::string Linker::linked() const {
    const auto& [all, defined, shared_names, words] = *inputs_;
    if (all.empty())
        throw Error(Error::Kind::invalid, 1, "", "no PTX text was added to the linker");
    std::set<std::string_view> taken = shared_names;
    const Unit* newest = &all.front().unit;
    const Unit* highest = newest;
    bool independent_samplers = false, debug = false;
    for (const auto& [text, unit] : all) {
        independent_samplers |= unit.independent_samplers;
        debug |= unit.debug;
        if (unit.version_number > newest->version_number) newest = &unit;
        if (unit.target_number > highest->target_number) highest = &unit;
    }

    std::string out = ".version " + std::string(newest->version) + "\n.target " +
                      std::string(highest->target) +
                      (independent_samplers ? ", texmode_independent" : "") +
                      (debug ? ", debug" : "") + "\n.address_size 64\n";
    // Shared symbols are declared first, as in their definitions.
    for (const auto& [name, chosen] : defined) {
        if (chosen.statement->entry || chosen.statement->names.size() != 1) continue;
        out += ".extern ";
        chosen.unit->write(out, chosen.statement->kind, chosen.statement->head_end, {});
        out += ";\n";
    }
    std::map<std::string_view, Chosen> missing;
    std::map<std::string_view, std::size_t> files;  // new numbers, by the rest of a .file
    LinkedSections sections;
    std::size_t number = 0;
    for (const auto& [text, unit] : all) {
        ++number;
        std::set<std::string_view> own, shared;
        for (const Statement& s : unit.statements)
            (s.linkage == Linkage::own ? own : shared).insert(s.names.begin(), s.names.end());
        own.merge(unit.debug_labels());
        Renamed renamed;
        for (const auto& [file, rest] : unit.files)
            renamed.files.emplace(file, files.emplace(rest, files.size() + 1).first->second);
        for (const std::string_view name : own) {
            // A function may be declared before the statement that gives its linkage.
            if (shared.count(name) || taken.insert(name).second) continue;
            std::string other = std::string(name) + "$" + std::to_string(number);
            while (words.count(other)) other += "_";
            renamed.words.emplace(name, std::move(other));
        }
        for (const Statement& s : unit.statements) {
            const auto found = s.linkage == Linkage::own || s.names.size() != 1
                                   ? defined.end()
                                   : defined.find(s.names[0]);
            if (found != defined.end() && found->second.statement != &s) {
                check_alike(unit, s, found->first, found->second);
                // A kernel's declaration is kept for its address. A definition that was not chosen
                // is dropped.
                if (!s.entry || s.defines) continue;
            } else if (s.function && s.linkage == Linkage::external && s.names.size() == 1) {
                // An undefined symbol, or one that the device provides: one declaration is enough.
                const auto [at, fresh] = missing.emplace(s.names[0], Chosen{&unit, &s});
                if (!fresh) {
                    check_alike(unit, s, at->first, at->second);
                    continue;
                }
            }
            bool other = false;
            for (const std::string_view name : s.names) {
                const auto at = defined.find(name);
                other |= s.defines && at != defined.end() && s.linkage != Linkage::own &&
                         at->second.statement != &s;
            }
            out += '\n';
            if (!other) {
                unit.write(out, s.begin, s.end, renamed);
            } else {
                out += ".extern ";
                unit.write(out, s.kind, s.head_end, renamed);
                out += ';';
            }
        }
        sections.add(unit.tokens(), unit.sections, renamed.words);
        out += '\n';
    }
    for (const auto& [rest, file] : files)
        out += ".file " + std::to_string(file) + " " + std::string(rest) + "\n";
    sections.write(out);
    return out;
}

}  // namespace cupola::ptx
