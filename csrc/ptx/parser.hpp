// csrc/ptx/parser.hpp - the parser: its tokens, the names in scope, and the module that it builds.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/error.hpp"
#include "ptx/lexer.hpp"
#include "ptx/match.hpp"
#include "ptx/program.hpp"

namespace cupola::ptx {

// The meaning of a name.
struct Symbol {
    enum class Kind : std::uint8_t { reg, variable, frame, function, table, prototype, targets };
    Kind kind;
    std::uint32_t index;
    unsigned count = 1;  // elements of a vector register, which have adjacent indices
};

struct RegisterType {
    Type type = Type::none;
    unsigned count = 1;  // elements of a vector
};

// The names of a brace pair in a function's body, or of the module.
struct NameScope {
    std::uint32_t parent = absent;
    std::uint64_t frame_at = 0;  // bytes of the frame in use when the scope was opened
    std::unordered_map<std::string_view, Symbol> names;
    struct Range {  // .reg .b32 %r<100>: a register is created at its first use
        std::string_view prefix;
        std::uint64_t count;
        RegisterType type;
    };
    std::vector<Range> ranges;
    std::unordered_map<std::string_view, std::uint32_t> labels;
};

// The linkage directives before a declaration.
struct Prefix {
    bool external = false, visible = false, common = false;
    std::uint32_t line = 0;
};

// The value of a constant expression: the bits of a 64-bit integer, an f64 or an f32.
struct Constant {
    Token::Kind kind = Token::Kind::integer;
    std::uint64_t bits = 0;
    bool is_unsigned = false;  // only for an integer
};

class Parser {
  public:
    Parser(std::string_view source, std::vector<Token> tokens);
    Module run();

  private:
    // parser.cpp: tokens and module directives
    const Token& peek(std::size_t ahead = 0) const;
    const Token& take();
    bool at_mark(char c) const;
    bool at_directive(std::string_view name) const;
    bool accept(char c);
    void expect(char c);
    std::string_view expect_word(const char* what);
    std::string_view expect_name(const char* what);  // a name that is declared here
    // The token as messages show it.
    static std::string quoted(const Token& token);
    [[noreturn]] void fail(const Token& at, const std::string& message,
                           Error::Kind kind = Error::Kind::invalid) const;
    [[noreturn]] void fail_line(std::uint32_t line, const std::string& message,
                                Error::Kind kind = Error::Kind::invalid) const;
    void header();
    void version();
    void target();
    void module_statement();
    bool skip_debug();
    void skip_braces();
    void module_variable(const Prefix& prefix, Space space);
    void add_variable(const Prefix& prefix, std::string_view name, Variable variable,
                      const Token& at);

    // function_head.cpp: parameters and directives of a function
    void function(const Prefix& prefix, bool entry);
    struct RegisterParameter {  // a frame variable, and the registers that hold it
        std::uint32_t frame, index;
        unsigned count;
    };
    void parameters(Function& f, std::vector<std::uint32_t>& list, bool entry,
                    std::vector<RegisterParameter>& registers);
    std::uint32_t parameter(Function& f, bool entry, std::vector<RegisterParameter>& registers);
    void head_directives(Function& f);
    void dimensions(std::uint32_t (&out)[3]);
    void take_address(std::uint32_t function);
    void place_open_formals();
    std::uint32_t declare_function(Function& f, const Token& name);
    void check_declaration(const Function& f, const Function& before, const Token& at) const;
    static std::string written(const Variable& v);

    // declare.cpp: variables and their initialisers
    struct Declared {
        Variable variable;
        std::string_view name;
        unsigned vector = 1;
        std::vector<std::uint64_t> dims;
        bool range = false;  // name<count>: the variables name0, name1, ...
        std::uint64_t count = 0;
    };
    Type fundamental_type();
    bool opaque_type(Variable& v);
    std::uint64_t constant_unsigned(const char* what);
    std::uint32_t alignment();
    void attributes(Variable& v);
    Declared declaration(Space space, const Prefix& prefix);
    void declare_name(Declared& d);
    std::vector<std::string_view> names_of(const Declared& d, const Token& at);
    void array_bounds(Declared& d);
    void initialiser(Declared& d);
    std::uint64_t initialise_level(Declared& d, std::size_t depth, std::uint64_t from);
    void resize_open(Declared& d, std::uint64_t rows, const Token& at);
    void initialise_one(Declared& d, std::uint64_t at);
    void skip_properties();
    void skip_properties_of(const Declared& d, std::size_t depth);
    void initialise_address(Declared& d, std::uint64_t at);
    void check_size(const Declared& d, const Token& at) const;

    // body.cpp: statements of a function
    void body(Function& f);
    void statement(Function& f);
    void open_scope();
    void close_scope();
    void local_variable(Function& f, Space space);
    void branch_targets(Function& f, std::string_view name);
    void call_prototype(std::string_view name);
    void call_targets(std::string_view name);
    std::vector<Variable> prototype_list(bool results);
    void label(Function& f, const Token& name);
    void instruction(Function& f);
    bool add_instruction(Function& f, Instruction& i, const std::vector<Candidate>& candidates,
                         std::string& wrong);
    struct Actual {
        const Token* token;
        Operand operand;               // a register, a whole vector, a constant, or _
        std::uint32_t frame = absent;  // otherwise a .param variable
    };
    struct Callee {  // the parameters that a call's arguments must match
        std::string what;
        std::vector<const Variable*> results, formals;
    };
    void call(Function& f, Instruction& i);
    std::vector<Actual> actuals(Function& f);
    Actual actual(Function& f);
    Callee callee(std::uint32_t function, const Token& start) const;
    std::vector<std::uint32_t> pass(Function& f, const Instruction& i,
                                    const std::vector<Actual>& given,
                                    const std::vector<const Variable*>& wanted,
                                    const std::string& what, bool stores);
    std::uint32_t add_empty(Function& f, const Variable& formal);
    void check_actual(const Function& f, const Actual& a, const Variable& formal,
                      const std::string& what) const;
    std::uint32_t add_targets(std::vector<std::uint32_t> functions, const Token& start);
    static bool alike(const Function& a, const Function& b);
    Callee indirect_callee(Call& c, const Token& start);
    std::uint32_t targets_of(std::uint32_t variable, const Token& at);
    void alias();
    void resolve_aliases();
    void resolve_labels(Function& f);
    std::uint32_t add_frame(Function& f, std::string_view name, Variable variable, const Token& at);
    std::uint32_t place_frame(Function& f, Variable variable);

    // register.cpp: registers, vector registers, and parameters in registers
    RegisterType register_type();
    void register_declaration(Function& f);
    std::uint32_t add_register(Function& f, std::string_view name, const RegisterType& r,
                               const Token& at);
    static Operand register_operand(const Function& f, std::uint32_t index);
    static Operand integer_operand(std::int64_t value);
    static Operand whole_vector(Function& f, const Symbol& s);
    bool vector_element(Function& f, const Token& token, Operand& o);
    static bool special_vector(Function& f, std::string_view name, Operand& o);
    Operand register_sum(Function& f, const Operand& o, const Token& at);
    Operand new_register(Function& f, Type type);
    RegisterParameter register_parameter(Function& f);
    void move_parameter(Function& f, const Instruction& like, const RegisterParameter& p,
                        bool load);
    void store_results(Function& f, const Instruction& like);
    void store_constant(Function& f, const Instruction& like, std::uint32_t frame, Type type,
                        const Operand& o);
    void emit(Function& f, const Instruction& like, std::string_view opcode,
              const std::vector<Operand>& operands);

    // element.cpp: elements of arrays, and addresses with a constant added
    void element(Function& f, Operand& o, const Token& at);
    void elements_in_memory(Function& f, Space space, const Token& at);
    bool address_sums(Function& f, unsigned bytes);
    bool has_index(std::size_t operand) const;
    Operand address_sum(Function& f, std::size_t operand, unsigned bytes);

    // constant.cpp: constant expressions
    bool at_operator(std::string_view text) const;
    bool at_constant(std::size_t ahead = 0) const;
    Constant constant() { return conditional(0); }
    std::int64_t constant_integer(const char* what);
    Operand constant_operand();
    Constant conditional(unsigned depth);
    Constant binary(unsigned level, unsigned depth);
    Constant unary(unsigned depth);
    Constant parenthesis(unsigned depth);
    Constant prefixed(unsigned depth);
    Constant combined(std::string_view op, const Constant& a, const Constant& b,
                      const Token& at) const;

    // operand.cpp: operands and names
    void operands(Function& f);
    Operand operand(Function& f);
    Operand primary(Function& f);
    Operand named(Function& f, const Token& token);
    Operand vector_operand(Function& f);
    Operand memory_operand(Function& f);
    void texel_operand(Function& f, Operand& o, const Token& start);
    Operand number_operand(Function& f);
    const Symbol* find(std::string_view name);
    const Symbol* find_register(Function& f, std::string_view name);
    const Symbol& expect_register(Function& f, const char* what);
    std::uint32_t label_reference(std::string_view name);

    struct Made {  // an instruction that the parser inserts before the current one
        std::string_view opcode;
        std::vector<Operand> operands;
    };
    struct Index {  // an array index: a register plus a constant, or only a constant
        std::size_t operand;
        Operand from;
        std::int64_t constant = 0;
        unsigned bytes = 0;  // size of an element
    };
    struct LabelReference {
        std::string_view name;
        std::uint32_t scope, line;
    };

    std::string_view source_;
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    Module module_;
    std::vector<NameScope> scopes_;  // scopes_[0] is the module
    std::uint32_t scope_ = 0;
    std::uint64_t frame_at_ = 0;
    struct Prototype {
        std::vector<Variable> results, formals;
    };
    std::vector<Prototype> prototypes_;                        // of the current function
    std::unordered_map<std::uint32_t, std::uint32_t> tables_;  // Module::targets, by variable
    std::vector<LabelReference> references_;  // of the current function; operands hold the index
    std::vector<Operand> operands_;           // of the current instruction
    std::vector<Made> made_;                  // of the current instruction
    std::vector<Index> indices_;              // of the current instruction
    std::vector<RegisterParameter> register_formals_, register_results_;  // of the current function
    std::unordered_map<std::string_view, std::vector<Candidate>> matched_;
    std::unordered_map<std::uint32_t, std::uint32_t>
        aliases_;                          // function, by the index of its alias
    std::deque<std::string> range_names_;  // names that the text does not contain
    // Bytes of the longest argument that a call passes to a parameter array without a size.
    std::uint64_t open_bytes_ = 0;
};

}  // namespace cupola::ptx
