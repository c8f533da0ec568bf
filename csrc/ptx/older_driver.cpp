// csrc/ptx/older_driver.cpp - writes a text for a driver that takes PTX up to a version.
//
// Blanks take the place of functions that are left out, so that line numbers stay.
#include "ptx/older_driver.hpp"

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "ptx/error.hpp"
#include "ptx/requirement_table.hpp"

namespace cupola::ptx {
namespace {

// The name that the driver knows for a target; empty where the driver knows no name for the target.
//
// A driver knows the plain target of each device that it runs, but may be older than the names with
// a suffix. The target with `a` has all features of the target with `f`. No feature of a suffix is
// older than the target with `a`. So where the driver does not know the target with `a`, either the
// text uses no feature of the suffix, or a statement needs a newer version, too.
std::string known_target(std::string_view target, unsigned newest, int capability) {
    const auto knows = [&](const std::string& name) {
        const unsigned first = first_version_of_target(name);
        return first && first <= newest;
    };
    const std::string written(target);
    if (knows(written)) return written;
    const char suffix = written.empty() ? '\0' : written.back();
    if (suffix != 'a' && suffix != 'f') return "";
    const std::string plain = written.substr(0, written.size() - 1);
    const std::string own = "sm_" + std::to_string(capability);
    const bool one_family = own >= plain && own.size() == plain.size() &&
                            own.compare(0, own.size() - 1, plain, 0, plain.size() - 1) == 0;
    if (suffix == 'f' && one_family && knows(own + "a")) return own + "a";
    return knows(plain) && !knows(plain + "a") ? plain : "";
}

// The requirement of each function that the driver can't take: the function's own requirement, or
// that of a function which it uses. The statements outside of functions have the empty name.
class Omissions {
  public:
    Omissions(const Requirements& all, unsigned newest) {
        std::vector<std::string_view> added;
        for (const Requirements::Part& part : all.parts)
            if (part.requirement.version > newest &&
                by_name_.emplace(part.name, part.requirement).second)
                added.push_back(part.name);
        if (added.empty()) return;
        std::map<std::string_view, std::vector<std::string_view>> users;
        for (const Requirements::Part& part : all.parts) users[part.name];
        for (const Requirements::Part& part : all.parts)
            for (const std::string_view word : part.words)
                if (const auto used = users.find(word); used != users.end())
                    used->second.push_back(part.name);
        while (!added.empty()) {
            const std::string_view name = added.back();
            added.pop_back();
            for (const std::string_view user : users[name])
                if (by_name_.emplace(user, by_name_.at(name)).second) added.push_back(user);
        }
    }
    // The requirement of a part; null where the driver can take the part.
    const Requirement* of(const Requirements::Part& part) const {
        const auto found = by_name_.find(part.name);
        return found == by_name_.end() ? nullptr : &found->second;
    }

  private:
    std::map<std::string_view, Requirement> by_name_;
};

class Rewrite {
  public:
    explicit Rewrite(std::string_view text) : from_(text), text_(text) {}

    void blank(std::string_view place) {
        for (std::size_t at = offset(place), end = at + place.size(); at < end; ++at)
            if (text_[at] != '\n') text_[at] = ' ';
    }
    // Changes the offsets of the places behind `place`, so call this for the last place first.
    void replace(std::string_view place, std::string_view with) {
        text_.replace(offset(place), place.size(), with);
    }
    std::string take() { return std::move(text_); }

  private:
    std::size_t offset(std::string_view place) const {
        return static_cast<std::size_t>(place.data() - from_.data());
    }

    std::string_view from_;
    std::string text_;
};

}  // namespace

ForDriver for_driver(std::string_view text, unsigned newest, int capability) {
    text = text.substr(0, text.find('\0'));
    const Requirements all = requirements(text);
    if (all.of_target.written > newest_version)
        throw Error(Error::Kind::unsupported_version, 1, "",
                    "PTX version " + std::string(all.version) + " is not supported");
    const Omissions omissions(all, newest);
    ForDriver out;
    bool any = false;
    for (const Requirements::Part& part : all.parts) {
        const Requirement* why = part.kernel ? omissions.of(part) : nullptr;
        if (why) out.omitted.push_back({std::string(part.name), *why});
        any = any || (part.kernel && !why);
    }
    const std::string target = known_target(all.target, newest, capability);
    const Requirement* refused = omissions.of(all.parts[0]);
    if (target.empty() || !all.of_target.known) refused = &all.of_target;
    // Debug information refers to the labels of all functions, so no function can be left out.
    if (!refused && !out.omitted.empty() && (all.debug || !any))
        refused = &out.omitted[0].requirement;
    if (refused) {
        out.refused = *refused;
        return out;
    }
    Rewrite rewrite(text);
    for (const Requirements::Part& part : all.parts) {
        if (!omissions.of(part)) continue;
        out.whole = false;
        rewrite.blank(part.text);
    }
    for (const Requirements::Hint& hint : all.hints)
        if (hint.requirement.version > newest) rewrite.blank(hint.text);
    rewrite.replace(all.target, target);
    rewrite.replace(all.version, std::to_string(newest / 10) + "." + std::to_string(newest % 10));
    out.text = rewrite.take();
    return out;
}

}  // namespace cupola::ptx
