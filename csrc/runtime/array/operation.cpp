// csrc/runtime/array/operation.cpp - the table of operations, and their kernels.
#include "runtime/array/operation.hpp"

#include <cstring>

namespace cupola {

const char* const element_names[elements::count] = {"none",
#define CUPOLA_ROW(name, code, computed) #name,
                                                    CUPOLA_ELEMENTS(CUPOLA_ROW)
#undef CUPOLA_ROW
};

namespace {

struct Row {
    const char* name;
    int number, kinds;
};

const Row* rows() {
    using namespace operations::kinds;
    static constexpr Row all[] = {
#define CUPOLA_ROW(name, kinds) \
    {#name, arithmetic * per_class + operations::arithmetic::name, kinds},
        CUPOLA_ARITHMETIC(CUPOLA_ROW)
#undef CUPOLA_ROW
#define CUPOLA_ROW(name, operands, kinds) \
    {#name, predicate * per_class + operations::predicate::name, kinds},
            CUPOLA_PREDICATES(CUPOLA_ROW)
#undef CUPOLA_ROW
#define CUPOLA_SAME(name, as) {#name, predicate * per_class + operations::predicate::as, booleans},
                CUPOLA_OF_TRUTHS(CUPOLA_SAME)
#undef CUPOLA_SAME
#define CUPOLA_NUMBER(name) function* per_class + operations::function::name
#define CUPOLA_REAL(name) {#name, CUPOLA_NUMBER(name), reals},
#define CUPOLA_COMPLEX(name) {#name, CUPOLA_NUMBER(name), complexes},
#define CUPOLA_BOTH(name) {#name, CUPOLA_NUMBER(name), reals | complexes},
                    CUPOLA_FUNCTIONS(CUPOLA_REAL, CUPOLA_COMPLEX, CUPOLA_BOTH)
#undef CUPOLA_NUMBER
#undef CUPOLA_REAL
#undef CUPOLA_COMPLEX
#undef CUPOLA_BOTH
                        {nullptr, 0, 0}};
    return all;
}

const Row* row_of(int operation) {
    for (const Row* row = rows(); row->name; ++row)
        if (row->number == operation) return row;
    return nullptr;
}

// A kernel of one device. It is found once and never unloaded.
using Slot = std::atomic<Kernel*>;

template <class Name>
Kernel* kept(Slot& slot, Context& context, std::size_t parameter_bytes, bool no_wait, Name name) {
    Kernel* kernel = slot.load(std::memory_order_acquire);
    if (kernel || no_wait) return kernel;
    kernel = &array_kernel(context, name(), parameter_bytes);
    slot.store(kernel, std::memory_order_release);
    return kernel;
}

}  // namespace

const std::array<unsigned char, classes* per_class> operation_kinds = [] {
    std::array<unsigned char, classes * per_class> kinds{};
    for (const Row* row = rows(); row->name; ++row)
        kinds[static_cast<std::size_t>(row->number)] |= static_cast<unsigned char>(row->kinds);
    return kinds;
}();

void require_kernel(int operation, int element) {
    if (is_done(operation, element)) return;
    const Row* row = row_of(operation);
    fail(CUPOLA_ERROR_TYPE,
         (row ? std::string(row->name) : "operation " + std::to_string(operation)) +
             " is not supported for elements of type " +
             (element > 0 && element < elements::count ? element_names[element]
                                                       : std::to_string(element)));
}

int result_of(int operation, int element) {
    if (class_of(operation) == predicate) return elements::b8;
    if (operation == function * per_class + operations::function::absolute)
        return element == elements::c64 ? elements::f32 : elements::f64;
    return element;
}

Kernel* shared_kernel(Context& context, Form form, Class which, int element, bool no_wait) {
    static constexpr const char* forms[] = {"", "strided_", "mixed_"};
    static constexpr std::size_t bytes[] = {sizeof(arrays::Flat), sizeof(arrays::Strided),
                                            sizeof(arrays::Mixed)};
    static auto* const slots = new Slot[max_ordinals][3][function][elements::count]();
    const auto place = static_cast<std::size_t>(form);
    return kept(slots[context.ordinal][place][which][element], context, bytes[place], no_wait, [&] {
        return std::string(forms[place]) + (which == arithmetic ? "arithmetic_" : "predicate_") +
               element_names[element];
    });
}

Kernel* cast_kernel(Context& context, int element) {
    static auto* const slots = new Slot[max_ordinals][elements::count]();
    return kept(slots[context.ordinal][element], context, sizeof(arrays::Mixed), false,
                [&] { return std::string("cast_") + element_names[element]; });
}

Kernel* function_kernel(Context& context, int operation, int element, bool no_wait) {
    static auto* const slots =
        new Slot[max_ordinals][operations::function::count][elements::count]();
    return kept(slots[context.ordinal][operation % per_class][element], context,
                sizeof(arrays::Mixed), no_wait, [&] {
                    return row_of(operation)->name + ("_" + std::string(element_names[element]));
                });
}

int operation_number(const char* name, int element) {
    for (const Row* row = rows(); row->name; ++row)
        if (std::strcmp(row->name, name) == 0 && has_element(row->kinds, element))
            return row->number;
    return -1;
}

const char* operation_name(int index) {
    const Row* row = rows();
    for (int i = 0; i < index && row->name; ++i) ++row;
    return row->name;
}

}  // namespace cupola
