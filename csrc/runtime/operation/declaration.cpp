// csrc/runtime/operation/declaration.cpp - reads the compiled form of a declaration.
//
// The bytes come from a file, which is untrusted: each number is checked before it is used.
#include "runtime/operation/declaration.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/base/error.hpp"

namespace cupola {
namespace {

constexpr std::string_view first_line = "cupola operation 2\n";

class DeclarationReader {
  public:
    explicit DeclarationReader(std::string_view bytes) : rest_(bytes) {}

    Declaration read() {
        if (rest_.substr(0, first_line.size()) != first_line)
            refuse("it does not begin with \"cupola operation 2\"");
        rest_.remove_prefix(first_line.size());
        out_.name = text("the name");
        if (out_.name.empty()) refuse("the operation has no name");
        out_.variables.resize(count("type variables", Declaration::max_tensors));
        for (std::string& one : out_.variables) one = text("a type variable");
        out_.symbols.resize(count("sizes", Declaration::max_symbols));
        for (std::string& one : out_.symbols) one = text("the name of a size");
        bound_.resize(out_.symbols.size());
        is_length_.resize(out_.symbols.size());
        out_.tensors.resize(count("tensors", Declaration::max_tensors));
        for (TensorDeclaration& one : out_.tensors) read_tensor(one);
        out_.scalars.resize(count("scalars", Declaration::max_scalars));
        for (ScalarDeclaration& one : out_.scalars) {
            one.kind = kind<ScalarDeclaration::Kind>("a scalar's kind", ScalarDeclaration::truth);
            one.name = text("the name of a scalar");
        }
        for (std::size_t i = 0; i < out_.symbols.size(); ++i) read_symbol(static_cast<int>(i));
        out_.checks.resize(count("checks", std::numeric_limits<std::uint32_t>::max()));
        for (Expression& one : out_.checks) one = expression("a check", true);
        out_.variants.resize(count("kernels", Declaration::max_variants));
        for (auto& one : out_.variants) read_variant(one);
        out_.arguments.resize(count("arguments", Declaration::max_arguments));
        for (ArgumentDeclaration& one : out_.arguments) read_argument(one);
        read_launch();
        if (!rest_.empty()) refuse(std::to_string(rest_.size()) + " bytes follow its end");
        check_whole();
        return std::move(out_);
    }

  private:
    enum Definition { length, pack, scalar, stride, present, element_size, batch, size };

    [[noreturn]] void refuse(const std::string& text) const {
        fail(CUPOLA_ERROR_VALUE,
             "the declaration of " +
                 (out_.name.empty() ? std::string("an operation") : "operation " + out_.name) +
                 " is invalid: " + text + "; build its package again, with this version of cupola");
    }

    // -- numbers and texts, in the order of the bytes ---------------------------------------------

    std::int64_t number(const char* what, std::int64_t least, std::int64_t most) {
        std::int64_t value = 0;
        if (rest_.size() < sizeof value) refuse(std::string("it ends before ") + what);
        std::memcpy(&value, rest_.data(), sizeof value);  // little-endian, as all platforms of CUDA
        rest_.remove_prefix(sizeof value);
        if (value < least || value > most)
            refuse(std::string(what) + " is " + std::to_string(value) + ", expected " +
                   std::to_string(least) + " to " + std::to_string(most));
        return value;
    }
    int index(const char* what, std::size_t count) {
        return static_cast<int>(number(what, 0, static_cast<std::int64_t>(count) - 1));
    }
    // An item of a list has 8 bytes at least. So a wrong count allocates little.
    std::size_t count(const char* what, std::size_t most) {
        const auto found =
            static_cast<std::size_t>(number(what, 0, static_cast<std::int64_t>(most)));
        if (found > rest_.size() / sizeof(std::int64_t))
            refuse("it ends before the last of its " + std::to_string(found) + " " + what);
        return found;
    }
    bool flag(const char* what) { return number(what, 0, 1) != 0; }
    template <class Kind>
    Kind kind(const char* what, Kind last) {
        return static_cast<Kind>(number(what, 0, last));
    }
    std::string text(const char* what, std::size_t most = std::numeric_limits<int>::max()) {
        const auto bytes = static_cast<std::size_t>(
            number("the length of a text", 0, static_cast<std::int64_t>(most)));
        if (bytes > rest_.size()) refuse(std::string("it ends in ") + what);
        std::string found(rest_.substr(0, bytes));
        rest_.remove_prefix(bytes);
        if (found.find('\0') != std::string::npos) refuse(std::string(what) + " has a zero byte");
        return found;
    }

    ElementType element() {
        ElementType found;
        found.code = static_cast<std::uint8_t>(number("the code of an element type", 0, 255));
        found.bits = static_cast<std::uint8_t>(number("the bits of an element type", 1, 255));
        if (!is_known(found)) refuse("there are no " + name_of(found));
        return found;
    }
    // A type variable's index, or -1 and an element type.
    int variable_or_element(ElementType& type) {
        const auto most = static_cast<std::int64_t>(out_.variables.size()) - 1;
        const int found = static_cast<int>(number("a type variable", -1, most));
        if (found < 0) type = element();
        return found;
    }

    Expression expression(const char* what, bool comparison = false) {
        using Op = Expression::Op;
        Expression made;
        std::string written = text(what, Expression::max_text);
        std::vector<Expression::Step> steps(count("steps of an expression", Expression::max_text));
        for (Expression::Step& step : steps) {
            step.op =
                static_cast<Op>(number("a step", 0, static_cast<std::int64_t>(Op::greater_equal)));
            if (step.op == Op::constant)
                step.value = number("a constant", 0, std::numeric_limits<std::int64_t>::max());
            else
                step.value = step.op == Op::symbol ? index("a size", out_.symbols.size()) : 0;
        }
        if (const char* wrong = made.set(std::move(written), std::move(steps), comparison))
            refuse(std::string(what) + ": " + wrong);
        return made;
    }
    // No expression, or one, or three.
    void axes(const char* what, Expression* out, std::int64_t least, std::int64_t most) {
        const std::int64_t given = number(what, least, most);
        if (given == 2) refuse(std::string(what) + " has two axes, expected three");
        for (std::int64_t axis = 0; axis < given; ++axis) out[axis] = expression(what);
    }

    // -- the parts --------------------------------------------------------------------------------

    void read_tensor(TensorDeclaration& tensor) {
        tensor.role =
            kind<TensorDeclaration::Role>("a tensor's role", TensorDeclaration::workspace);
        if (&tensor != out_.tensors.data() && (&tensor)[-1].role > tensor.role)
            refuse("inputs come first, then outputs, then workspaces");
        tensor.name = text("the name of a tensor");
        tensor.text = text("the type of a tensor");
        const bool is_input = tensor.role == TensorDeclaration::input;
        tensor.optional = flag("whether a tensor is optional");
        tensor.mutated = flag("whether a tensor is mutated");
        tensor.strided = flag("whether a tensor is strided");
        if (!is_input && (tensor.optional || tensor.mutated || tensor.strided))
            refuse(tensor.name + ": only an input is optional, mutated or strided");
        tensor.has_pack = flag("whether a tensor has a pack");
        tensor.variable = variable_or_element(tensor.type);
        tensor.lengths.resize(count("lengths", Declaration::max_lengths));
        for (Length& one : tensor.lengths) {
            one.kind = kind<Length::Kind>("a length's kind", Length::broadcast);
            if (one.kind == Length::computed) {
                one.expression = expression("a length");
                continue;
            }
            if (!is_input) refuse(tensor.name + ": only an input binds a size");
            one.symbol = index("the size of a length", out_.symbols.size());
            const auto symbol = static_cast<std::size_t>(one.symbol);
            is_length_[symbol] = true;
            if (!tensor.optional) bound_[symbol] = true;
        }
    }

    // Sizes follow each other, and use only what has a value before them.
    void read_symbol(int symbol) {
        const auto at = static_cast<std::size_t>(symbol);
        const auto definition = kind<Definition>("the definition of a size", size);
        if (is_length_[at] != (definition == length))
            refuse("the size " + out_.symbols[at] + " has two definitions, or none");
        DerivedSymbol found;
        found.symbol = symbol;
        switch (definition) {
            case length:
                return;  // bound by an input that is always given, or not
            case pack:
                set_once(out_.pack, symbol);
                break;
            case scalar: {
                ScalarDeclaration& by = out_.scalars[static_cast<std::size_t>(
                    index("the scalar of a size", out_.scalars.size()))];
                if (by.kind == ScalarDeclaration::real) refuse(by.name + " is not an integer");
                set_once(by.symbol, symbol);
                break;
            }
            case stride:
                found.kind = DerivedSymbol::stride;
                found.index = index("the tensor of a stride", out_.tensors.size());
                found.axis =
                    index("the axis of a stride",
                          out_.tensors[static_cast<std::size_t>(found.index)].lengths.size());
                out_.derived.push_back(found);
                break;
            case present:
                found.kind = DerivedSymbol::present;
                found.index = index("the tensor of a size", out_.tensors.size());
                out_.derived.push_back(found);
                break;
            case element_size:
                found.kind = DerivedSymbol::element_size;
                found.index = variable_or_element(found.type);
                out_.derived.push_back(found);
                break;
            case batch:
                set_once(out_.batch_symbol, symbol);
                break;
            case size:
                out_.sizes.push_back({symbol, expression("a size")});
                break;
        }
        if (definition != size) bound_[at] = true;
    }
    void set_once(int& place, int symbol) const {
        if (place >= 0) refuse("two sizes have one definition");
        place = symbol;
    }

    void read_variant(Declaration::Variant& variant) {
        for (std::size_t i = 0; i < out_.variables.size(); ++i) variant.types.push_back(element());
        variant.kernel = text("the name of a kernel");
        for (const auto* one = out_.variants.data(); one != &variant; ++one)
            if (one->types == variant.types) refuse("two kernels are for the same element types");
    }

    void read_argument(ArgumentDeclaration& argument) {
        const auto found =
            kind<ArgumentDeclaration::Kind>("an argument's kind", ArgumentDeclaration::record);
        argument.kind = found;
        if (found == ArgumentDeclaration::tensor)
            argument.index = index("an argument's tensor", out_.tensors.size());
        else if (found == ArgumentDeclaration::scalar)
            argument.index = index("an argument's scalar", out_.scalars.size());
        else if (found == ArgumentDeclaration::record)
            read_record(argument);
        else
            argument.expression = expression("an argument");
    }

    void read_record(ArgumentDeclaration& argument) {
        argument.size =
            static_cast<std::uint32_t>(number("the bytes of a struct", 1, Declaration::max_record));
        argument.fields.resize(count("fields", Declaration::max_fields));
        for (FieldDeclaration& one : argument.fields) {
            one.size = static_cast<std::uint32_t>(number("the bytes of a field", 1, 8));
            if (one.size & (one.size - 1)) refuse("the bytes of a field are no power of two");
            if (one.size > argument.size) refuse("a field is larger than its struct");
            one.offset = static_cast<std::uint32_t>(
                number("the offset of a field", 0, argument.size - one.size));
            const auto most = static_cast<std::int64_t>(out_.tensors.size()) - 1;
            one.tensor = static_cast<int>(number("the tensor of a field", -1, most));
            if (one.tensor < 0)
                one.expression = expression("a field");
            else if (one.size != sizeof(std::uint64_t))
                refuse("the address of a tensor has 8 bytes");
        }
    }

    void read_launch() {
        axes("grid", out_.grid, 3, 3);
        axes("block", out_.block, 3, 3);
        axes("cluster", out_.cluster, 0, 3);
        axes("shared", &out_.shared, 0, 1);
        bool attributes = !out_.cluster[0].empty();
        for (Expression* one :
             {&out_.cooperative, &out_.dependent, &out_.priority, &out_.carveout}) {
            axes("an attribute of the launch", one, 0, 1);
            attributes |= !one->empty();
        }
        out_.has_attributes = attributes;
        out_.align = static_cast<std::uint32_t>(number("align", 1, 4096));
        if (out_.align & (out_.align - 1)) refuse("align is not a power of two");
        out_.batch = kind<Declaration::Batch>("batch", Declaration::symbol);
    }

    // -- what several parts must have -------------------------------------------------------------

    void check_whole() {
        const auto given = [](const TensorDeclaration& one) {
            return one.role == TensorDeclaration::input && !one.optional;
        };
        const auto any = [&](auto&& holds) {
            return std::any_of(out_.tensors.begin(), out_.tensors.end(), holds);
        };
        if (!any(given)) refuse("it has no input that is always given");
        for (std::size_t v = 0; v < out_.variables.size(); ++v)
            if (!any([&](const auto& one) {
                    return given(one) && one.variable == static_cast<int>(v);
                }))
                refuse("no input that is always given has the type " + out_.variables[v]);
        for (const ScalarDeclaration& one : out_.scalars)
            if (one.kind != ScalarDeclaration::real && one.symbol < 0)
                refuse("the scalar " + one.name + " is no size");
        const bool has_pack = any([](const auto& one) { return one.has_pack; });
        if (has_pack != (out_.pack >= 0) ||
            (has_pack && !any([&](const auto& one) { return given(one) && one.has_pack; })))
            refuse("no input that is always given binds the pack");
        if (!any([](const auto& one) {
                return one.mutated || one.role == TensorDeclaration::output;
            }))
            refuse("it has no output, and changes no input");
        if (out_.variants.empty()) refuse("it has no kernel");
        check_sizes();
    }

    // Expressions use only sizes that have a value at each call.
    void check_sizes() {
        for (const auto& one : out_.sizes) {
            check_bound(one.expression);
            bound_[static_cast<std::size_t>(one.symbol)] = true;
        }
        for (const TensorDeclaration& tensor : out_.tensors)
            for (const Length& one : tensor.lengths) check_bound(one.expression);
        for (const Expression& one : out_.checks) check_bound(one);
        for (const ArgumentDeclaration& one : out_.arguments) {
            check_bound(one.expression);
            for (const FieldDeclaration& field : one.fields) check_bound(field.expression);
        }
        for (const auto* axes : {&out_.grid, &out_.block, &out_.cluster})
            for (const Expression& one : *axes) check_bound(one);
        for (const Expression* one :
             {&out_.shared, &out_.cooperative, &out_.dependent, &out_.priority, &out_.carveout})
            check_bound(*one);
    }
    void check_bound(const Expression& expression) const {
        for (const Expression::Step& step : expression.steps())
            if (step.op == Expression::Op::symbol && !bound_[static_cast<std::size_t>(step.value)])
                refuse("the size " + out_.symbols[static_cast<std::size_t>(step.value)] +
                       " has no value in " + expression.text());
    }

    std::string_view rest_;
    Declaration out_;
    std::vector<bool> bound_;      // the symbols that expressions may use
    std::vector<bool> is_length_;  // the symbols that lengths of inputs bind
};

}  // namespace

std::string Declaration::title(std::size_t tensor) const {
    constexpr const char* roles[] = {"argument ", "output ", "workspace "};
    return roles[tensors[tensor].role] + tensors[tensor].name;
}

Declaration read_declaration(std::string_view bytes) { return DeclarationReader(bytes).read(); }

}  // namespace cupola
