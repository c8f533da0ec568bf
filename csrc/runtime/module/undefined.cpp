// csrc/runtime/module/undefined.cpp - names the symbols that a driver's log reports as undefined.
#include "runtime/module/undefined.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "platform/demangle.hpp"

namespace cupola {
namespace {

struct Form {
    std::string_view before, after;
};

// The words around a symbol: those of the CPU device, then those of ptxas, nvlink and nvJitLink,
// without the first two letters, of which tools write the first one as a capital or small.
constexpr Form forms[] = {
    {"function '", "' is not defined"},  {"extern variable '", "' is not defined"},
    {"resolved extern function '", "'"}, {"resolved extern variable '", "'"},
    {"defined reference to '", "'"},
};

}  // namespace

std::string undefined_symbols(const std::string& log) {
    std::vector<std::string> symbols;
    for (const Form& form : forms) {
        std::size_t at = 0;
        while ((at = log.find(form.before, at)) != std::string::npos) {
            at += form.before.size();
            const std::size_t end = log.find('\'', at);
            if (end == std::string::npos) break;
            if (log.compare(end, form.after.size(), form.after) != 0) continue;
            const std::string symbol = log.substr(at, end - at);
            if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end())
                symbols.push_back(symbol);
        }
    }
    std::string text;
    for (const std::string& symbol : symbols)
        text += "\n  " + demangle(symbol) +
                " is declared, and nothing here defines it: compile the source that defines it, "
                "too, as in cupola.compile([first, second]), or give its object in link=[...]";
    return text;
}

}  // namespace cupola
