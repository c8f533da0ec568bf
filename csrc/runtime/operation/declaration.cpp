// csrc/runtime/operation/declaration.cpp - parses the text that declares an operation.
//
// A text comes from a manifest, which is untrusted: unknown words and unbound names are refused.
#include "runtime/operation/declaration.hpp"

#include <algorithm>

namespace cupola {
namespace {

constexpr std::size_t max_declaration = 1 << 16;
constexpr std::string_view first_line = "operation 1 ";

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

// The text up to a separator, which is removed with it.
std::string_view next(std::string_view& rest, char separator) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    const std::string_view found = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return found;
}

// Splits at the commas outside of parentheses.
std::vector<std::string_view> listed(std::string_view text) {
    std::vector<std::string_view> found;
    if (trimmed(text).empty()) return found;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size()) depth += (text[i] == '(') - (text[i] == ')');
        if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
        found.push_back(trimmed(text.substr(begin, i - begin)));
        begin = i + 1;
    }
    return found;
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

class DeclarationReader : Expression::Symbols {
  public:
    DeclarationReader(std::string_view text, Declaration& out) : text_(text), out_(out) {}

    std::string read() {
        if (text_.size() > max_declaration) return "it is longer than 65536 bytes";
        if (text_.compare(0, first_line.size(), first_line) != 0)
            return "it does not begin with \"operation 1\": it is of another version of cupola";
        split();
        // Names first: expressions may use those of later lines.
        for (const Line& line : lines_)
            if (!declare(line)) return problem_;
        if (!bind_names()) return problem_;
        for (const Line& line : lines_)
            if (!define(line)) return problem_;
        complete();
        return problem_;
    }

  private:
    struct Line {
        std::string_view word, rest;
    };

    bool fail(const std::string& text) {
        if (problem_.empty()) problem_ = text;
        return false;
    }

    void split() {
        std::string_view rest = text_;
        while (!rest.empty()) {
            std::string_view line = next(rest, '\n');
            if (line.empty()) continue;
            const std::string_view word = next(line, ' ');
            lines_.push_back({word, trimmed(line)});
        }
    }

    bool is_known(std::string_view name) const {
        const auto named = [&](const auto& one) { return one.name == name; };
        return std::any_of(out_.tensors.begin(), out_.tensors.end(), named) ||
               std::any_of(out_.scalars.begin(), out_.scalars.end(), named) ||
               std::find(out_.symbols.begin(), out_.symbols.end(), name) != out_.symbols.end();
    }

    bool new_name(std::string_view name, const char* what) {
        if (!is_name(name)) return fail(std::string(what) + " " + quoted(name) + " is not a name");
        if (is_known(name)) return fail("there are two names " + quoted(name));
        return true;
    }

    int add_symbol(std::string_view name) {
        if (out_.symbols.size() == Declaration::max_symbols) {
            fail("it has more than " + std::to_string(Declaration::max_symbols) + " sizes");
            return -1;
        }
        out_.symbols.emplace_back(name);
        bound_.push_back(false);
        return static_cast<int>(out_.symbols.size()) - 1;
    }
    int symbol_of(std::string_view name) const {
        const auto at = std::find(out_.symbols.begin(), out_.symbols.end(), name);
        return at == out_.symbols.end() ? -1 : static_cast<int>(at - out_.symbols.begin());
    }

    // The first pass: names of tensors and scalars.
    bool declare(const Line& line) {
        std::string_view rest = line.rest;
        if (line.word == "operation") {
            if (&line != lines_.data()) return fail("there are two operations");
            next(rest, ' ');
            out_.name = rest;
            return rest.empty() ? fail("the operation has no name") : true;
        }
        if (line.word == "types") {
            for (std::string_view one : listed(rest)) {
                if (!is_name(one)) return fail("the type " + quoted(one) + " is not a name");
                out_.variables.emplace_back(one);
            }
            return true;
        }
        if (line.word == "input" || line.word == "mutated" || line.word == "output" ||
            line.word == "workspace") {
            TensorDeclaration tensor;
            tensor.role = line.word == "output"      ? TensorDeclaration::output
                          : line.word == "workspace" ? TensorDeclaration::workspace
                                                     : TensorDeclaration::input;
            tensor.mutated = line.word == "mutated";
            const std::string_view name = next(rest, ' ');
            if (!new_name(name, "the tensor")) return false;
            if (!out_.tensors.empty() && out_.tensors.back().role > tensor.role)
                return fail("inputs come first, then outputs, then workspaces");
            if (out_.tensors.size() == Declaration::max_tensors)
                return fail("it has more than 64 tensors");
            tensor.name = name;
            tensor.text = rest;
            out_.tensors.push_back(std::move(tensor));
            return true;
        }
        if (line.word == "scalar") {
            ScalarDeclaration scalar;
            scalar.name = next(rest, ' ');
            if (!new_name(scalar.name, "the scalar")) return false;
            if (rest == "float")
                scalar.kind = ScalarDeclaration::real;
            else if (rest == "int")
                scalar.kind = ScalarDeclaration::integer;
            else if (rest == "bool")
                scalar.kind = ScalarDeclaration::truth;
            else
                return fail("scalar " + scalar.name + ": the type " + quoted(rest) +
                            " is not float, int or bool");
            if (out_.scalars.size() == Declaration::max_scalars)
                return fail("it has more than 64 scalars");
            if (scalar.kind != ScalarDeclaration::real) {
                scalar.symbol = add_symbol(scalar.name);
                if (scalar.symbol < 0) return false;
                bound_.back() = true;
            }
            out_.scalars.push_back(std::move(scalar));
            return true;
        }
        return true;
    }

    // Between the passes: the sizes that shapes and "size" lines bind.
    bool bind_names() {
        for (TensorDeclaration& tensor : out_.tensors)
            if (!read_type(tensor)) return false;
        for (const Line& line : lines_) {
            std::string_view rest = line.rest;
            if (line.word != "size") continue;
            const std::string_view name = next(rest, ' ');
            if (!new_name(name, "the size")) return false;
            const int symbol = add_symbol(name);
            if (symbol < 0) return false;
        }
        return true;
    }

    bool read_type(TensorDeclaration& tensor) {
        std::string_view text = tensor.text;
        const std::string where = tensor.name + " = " + quoted(text) + ": ";
        if (!text.empty() && text.back() == '?') {
            tensor.optional = true;
            text = trimmed(text.substr(0, text.size() - 1));
            if (tensor.role != TensorDeclaration::input)
                return fail(where + "only an input can be optional");
        }
        const std::size_t open = text.find('[');
        if (open == std::string_view::npos || text.back() != ']')
            return fail(where + "expected an element type and a shape, such as T[ny, nx]");
        const std::string_view type = trimmed(text.substr(0, open));
        const auto variable = std::find(out_.variables.begin(), out_.variables.end(), type);
        if (variable != out_.variables.end())
            tensor.variable = static_cast<int>(variable - out_.variables.begin());
        else if (tensor.type = element_type_of(type); !tensor.type.bits)
            return fail(where + "unknown element type " + quoted(type));
        const auto shape = listed(text.substr(open + 1, text.size() - open - 2));
        if (shape.size() > Declaration::max_lengths)
            return fail(where + "it has more than 32 lengths");
        for (std::size_t i = 0; i < shape.size(); ++i)
            if (!read_length(tensor, shape[i], i, where)) return false;
        return true;
    }

    bool read_length(TensorDeclaration& tensor, std::string_view text, std::size_t position,
                     const std::string& where) {
        const bool binds = tensor.role == TensorDeclaration::input;
        if (!text.empty() && text.front() == '*' && is_name(text.substr(1))) {
            const std::string_view name = text.substr(1);
            if (position) return fail(where + "*" + std::string(name) + " must come first");
            if (out_.pack < 0) {
                if (!binds || tensor.optional)
                    return fail(where + "no input binds *" + std::string(name));
                if (!new_name(name, "the pack")) return false;
                out_.pack = add_symbol(name);
                if (out_.pack < 0) return false;
                bound_.back() = true;
            } else if (out_.symbols[static_cast<std::size_t>(out_.pack)] != name) {
                return fail(where + "an operation has one pack, which is *" +
                            out_.symbols[static_cast<std::size_t>(out_.pack)]);
            }
            tensor.has_pack = true;
            return true;
        }
        Length length;
        constexpr std::string_view call = "broadcast(";
        if (text.compare(0, call.size(), call) == 0 && text.back() == ')') {
            const std::string_view name =
                trimmed(text.substr(call.size(), text.size() - call.size() - 1));
            if (!binds) return fail(where + "only an input can be broadcast");
            if (!is_name(name)) return fail(where + "broadcast takes the name of a size");
            length.kind = Length::broadcast;
            length.symbol = symbol_of(name);
            if (length.symbol < 0) {
                if (!new_name(name, "the size")) return false;
                length.symbol = add_symbol(name);
            }
            if (length.symbol < 0) return false;
            if (!tensor.optional) bound_[static_cast<std::size_t>(length.symbol)] = true;
        } else if (binds && is_name(text)) {
            length.symbol = symbol_of(text);
            if (length.symbol < 0) {
                if (!new_name(text, "the size")) return false;
                length.symbol = add_symbol(text);
            }
            if (length.symbol < 0) return false;
            if (!tensor.optional) bound_[static_cast<std::size_t>(length.symbol)] = true;
        } else {
            length.kind = Length::computed;  // parsed in the second pass
        }
        tensor.lengths.push_back(std::move(length));
        texts_.push_back({&tensor - out_.tensors.data(), tensor.lengths.size() - 1, text});
        return true;
    }

    // The second pass: expressions.
    bool define(const Line& line) {
        std::string_view rest = line.rest;
        const std::string_view w = line.word;
        if (w == "operation" || w == "types" || w == "input" || w == "mutated" || w == "output" ||
            w == "workspace" || w == "scalar")
            return true;
        if (w == "kernel") return define_variant(rest);
        if (w == "size") {
            const int symbol = symbol_of(next(rest, ' '));
            Expression found;
            if (!expression(w, rest, found)) return false;
            bound_[static_cast<std::size_t>(symbol)] = true;  // for later lines
            out_.sizes.push_back({symbol, std::move(found)});
            return true;
        }
        if (w == "check") {
            Expression found;
            if (!expression(w, rest, found, true)) return false;
            out_.checks.push_back(std::move(found));
            return true;
        }
        if (w == "argument") return define_argument(rest);
        if (w == "grid") return define_axis(w, rest, out_.grid);
        if (w == "block") return define_axis(w, rest, out_.block);
        if (w == "cluster") return out_.has_attributes = true, define_axis(w, rest, out_.cluster);
        if (w == "shared") return define_once(w, rest, out_.shared);
        if (w == "strided") {
            for (TensorDeclaration& tensor : out_.tensors)
                if (tensor.name == rest) return tensor.strided = true;
            return fail("strided: there is no tensor " + quoted(rest));
        }
        if (w == "align") {
            Expression found;
            std::int64_t value = 0;
            if (!expression(w, rest, found) || found.evaluate(zeros_, value) || value < 1 ||
                value > 4096 || value & (value - 1))
                return fail("align " + quoted(rest) + " is not a power of two up to 4096");
            out_.align = static_cast<std::uint32_t>(value);
            return true;
        }
        if (w == "batch") return define_batch(rest);
        for (const auto& [name, place] :
             {std::pair{"cooperative", &out_.cooperative}, std::pair{"dependent", &out_.dependent},
              std::pair{"priority", &out_.priority}, std::pair{"carveout", &out_.carveout}})
            if (w == name) return out_.has_attributes = true, define_once(w, rest, *place);
        return fail("unknown word " + quoted(w));
    }

    bool define_variant(std::string_view rest) {
        std::vector<ElementType> types;
        for (std::string_view one : listed(rest)) {
            types.push_back(element_type_of(one));
            if (!types.back().bits) return fail("kernel: unknown element type " + quoted(one));
        }
        if (types.size() != out_.variables.size())
            return fail("kernel " + quoted(rest) + ": expected " +
                        std::to_string(out_.variables.size()) + " element types");
        if (std::find(out_.variants.begin(), out_.variants.end(), types) != out_.variants.end())
            return fail("there are two kernels for " + quoted(rest));
        if (out_.variants.size() == Declaration::max_variants)
            return fail("it has more than 256 kernels");
        out_.variants.push_back(std::move(types));
        return true;
    }

    bool define_batch(std::string_view rest) {
        if (out_.batch != Declaration::none) return fail("there are two lines \"batch\"");
        if (rest == "loop") {
            out_.batch = Declaration::loop;
            return true;
        }
        return rest == std::string_view("symbol")
                   ? (out_.batch = Declaration::symbol, batch_index() >= 0)
                   : fail("batch " + quoted(rest) + " is neither loop nor symbol");
    }

    bool define_argument(std::string_view rest) {
        ArgumentDeclaration argument;
        argument.text = rest;
        if (out_.arguments.size() == Declaration::max_arguments)
            return fail("it has more than 128 arguments");
        for (std::size_t i = 0; i < out_.tensors.size(); ++i)
            if (out_.tensors[i].name == rest) {
                argument.kind = ArgumentDeclaration::tensor;
                argument.index = static_cast<int>(i);
            }
        for (std::size_t i = 0; i < out_.scalars.size(); ++i)
            if (out_.scalars[i].name == rest) {
                argument.kind = ArgumentDeclaration::scalar;
                argument.index = static_cast<int>(i);
            }
        if (argument.kind == ArgumentDeclaration::value &&
            !expression("argument", rest, argument.expression))
            return false;
        out_.arguments.push_back(std::move(argument));
        return true;
    }

    bool define_axis(std::string_view word, std::string_view rest, Expression (&axes)[3]) {
        for (Expression& axis : axes)
            if (axis.empty()) return expression(word, rest, axis);
        return fail(std::string(word) + " has more than three axes");
    }

    bool define_once(std::string_view word, std::string_view rest, Expression& place) {
        if (!place.empty()) return fail("there are two lines " + quoted(word));
        return expression(word, rest, place);
    }

    bool expression(std::string_view word, std::string_view text, Expression& out,
                    bool comparison = false) {
        const std::string wrong = Expression::parse(text, *this, comparison, out);
        return wrong.empty() || fail(std::string(word) + " " + quoted(text) + ": " + wrong);
    }

    int batch_index() {
        if (out_.batch_symbol < 0) {
            out_.batch_symbol = add_symbol("batch()");
            if (out_.batch_symbol >= 0) bound_.back() = true;
        }
        return out_.batch_symbol;
    }

    int find(std::string_view name, const std::vector<std::string_view>* arguments,
             std::string& problem) override {
        if (arguments) return derived(name, *arguments, problem);
        const int symbol = symbol_of(name);
        if (symbol >= 0 && bound_[static_cast<std::size_t>(symbol)]) return symbol;
        const auto named = [&](const auto& one) { return one.name == name; };
        if (symbol >= 0)
            problem = "the size " + quoted(name) + " is bound by no input that is always given";
        else if (std::any_of(out_.tensors.begin(), out_.tensors.end(), named))
            problem = quoted(name) + " is a tensor, not a number";
        else if (std::any_of(out_.scalars.begin(), out_.scalars.end(), named))
            problem = "the scalar " + quoted(name) + " is not an integer";
        else
            problem = "unknown name " + quoted(name);
        return -1;
    }

    int derived(std::string_view name, const std::vector<std::string_view>& arguments,
                std::string& problem) {
        if (name == "batch" && arguments.empty()) return batch_index();
        std::string text(name);
        for (std::size_t i = 0; i < arguments.size(); ++i)
            text += (i ? ", " : "(") + std::string(arguments[i]);
        text += ")";
        const int known = symbol_of(text);
        if (known >= 0) return known;
        DerivedSymbol found;
        if (name == "sizeof" && arguments.size() == 1) {
            found.kind = DerivedSymbol::element_size;
            const auto at = std::find(out_.variables.begin(), out_.variables.end(), arguments[0]);
            found.type = element_type_of(arguments[0]);
            found.index =
                at == out_.variables.end() ? -1 : static_cast<int>(at - out_.variables.begin());
            if (found.index < 0 && !found.type.bits)
                return problem = "unknown element type " + quoted(arguments[0]), -1;
        } else if (name == "present" && arguments.size() == 1) {
            found.kind = DerivedSymbol::present;
            if (!tensor_named(arguments[0], found.index, problem)) return -1;
        } else if (name == "stride" && arguments.size() == 2) {
            if (!tensor_named(arguments[0], found.index, problem)) return -1;
            const TensorDeclaration& tensor = out_.tensors[static_cast<std::size_t>(found.index)];
            const bool digits =
                arguments[1].size() == 1 && arguments[1][0] >= '0' && arguments[1][0] <= '9';
            found.axis = digits ? arguments[1][0] - '0' : -1;
            if (!digits || static_cast<std::size_t>(found.axis) >= tensor.lengths.size())
                return problem = "stride takes a tensor and the number of an axis of its shape" +
                                 std::string(", counted without the pack"),
                       -1;
        } else {
            return problem = "unknown function " + text, -1;
        }
        found.symbol = add_symbol(text);
        if (found.symbol < 0) return problem = problem_, -1;
        bound_.back() = true;
        out_.derived.push_back(found);
        return found.symbol;
    }

    bool tensor_named(std::string_view name, int& index, std::string& problem) const {
        for (std::size_t i = 0; i < out_.tensors.size(); ++i)
            if (out_.tensors[i].name == name) {
                index = static_cast<int>(i);
                return true;
            }
        problem = "there is no tensor " + quoted(name);
        return false;
    }

    // After the passes: shapes' expressions, and what must not be missing.
    bool complete() {
        for (const Text& one : texts_) {
            TensorDeclaration& tensor = out_.tensors[static_cast<std::size_t>(one.tensor)];
            Length& length = tensor.lengths[one.length];
            if (length.kind != Length::computed) continue;
            const std::string wrong = Expression::parse(one.text, *this, false, length.expression);
            if (!wrong.empty())
                return fail(tensor.name + " = " + quoted(tensor.text) + ": " + wrong);
        }
        const auto given = [](const TensorDeclaration& one) {
            return one.role == TensorDeclaration::input && !one.optional;
        };
        if (std::none_of(out_.tensors.begin(), out_.tensors.end(), given))
            return fail("it has no input that is always given");
        for (std::size_t v = 0; v < out_.variables.size(); ++v)
            if (std::none_of(out_.tensors.begin(), out_.tensors.end(),
                             [&](const TensorDeclaration& one) {
                                 return given(one) && one.variable == static_cast<int>(v);
                             }))
                return fail("no input that is always given has the type " + out_.variables[v]);
        const auto writes = [](const TensorDeclaration& one) {
            return one.mutated || one.role == TensorDeclaration::output;
        };
        if (std::none_of(out_.tensors.begin(), out_.tensors.end(), writes))
            return fail("it has no output, and changes no input");
        if (out_.variants.empty()) return fail("it has no kernel");
        for (auto axes : {out_.grid, out_.block}) {
            if (axes[0].empty()) return fail("grid and block are missing");
            for (int axis = 1; axis < 3; ++axis)
                if (axes[axis].empty()) axes[axis] = Expression::constant(1);
        }
        for (int axis = 1; axis < 3; ++axis)
            if (!out_.cluster[0].empty() && out_.cluster[axis].empty())
                out_.cluster[axis] = Expression::constant(1);
        return true;
    }

    struct Text {
        std::ptrdiff_t tensor;
        std::size_t length;
        std::string_view text;
    };

    std::string_view text_;
    Declaration& out_;
    std::string problem_;
    std::vector<Line> lines_;
    std::vector<Text> texts_;
    std::vector<bool> bound_;  // symbols that expressions may use
    const std::int64_t zeros_[Declaration::max_symbols] = {};
};

}  // namespace

std::string Declaration::title(std::size_t tensor) const {
    constexpr const char* roles[] = {"argument ", "output ", "workspace "};
    return roles[tensors[tensor].role] + tensors[tensor].name;
}

std::string parse_declaration(std::string_view text, Declaration& out) {
    out = {};
    return DeclarationReader(text, out).read();
}

}  // namespace cupola
