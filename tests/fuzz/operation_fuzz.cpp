// tests/fuzz/operation_fuzz.cpp - compiled declarations of operations, and calls with hostile
// tensors: a declaration is read within its bounds, and the checks of a call read no more than a
// tensor has.
//
// An input is the number of a declaration's bytes as uint16_t, the declaration, and bytes that
// become tensors. `python tests/fuzz/operation_seeds.py` writes the seeds.
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/array/dlpack.cpp"
#include "runtime/base/error.cpp"
#include "runtime/operation/declaration.cpp"
#include "runtime/operation/element_type.cpp"
#include "runtime/operation/expression.cpp"
#include "runtime/operation/operation_call.cpp"

namespace cupola {

// The checks need the devices of a process, which has the CPU device alone.
int current_device() { return 0; }
int host_device() { return 0; }
std::string device_text(int device) { return "device " + std::to_string(device); }

}  // namespace cupola

namespace {

class Bytes {
  public:
    explicit Bytes(std::string_view rest) : rest_(rest) {}
    template <class T>
    T take() {
        T value{};
        std::memcpy(&value, rest_.data(), std::min(sizeof value, rest_.size()));
        rest_.remove_prefix(std::min(sizeof value, rest_.size()));
        return value;
    }
    // The next bytes of the input, or all bytes that are left.
    std::string_view part(std::size_t size) {
        const std::string_view found = rest_.substr(0, size);
        rest_.remove_prefix(found.size());
        return found;
    }
    // Most lengths of real tensors are small.
    std::int64_t number() {
        const auto first = take<std::uint8_t>();
        return first < 250 ? first % 8 : take<std::int64_t>();
    }

  private:
    std::string_view rest_;
};

struct Lie {
    cupola::dlpack::Tensor tensor{};
    std::vector<std::int64_t> shape, strides;
};

void call(const cupola::Declaration& declaration, std::string_view data) {
    Bytes bytes(data);
    std::vector<Lie> lies(declaration.tensors.size());
    std::vector<const void*> tensors;
    for (Lie& lie : lies) {
        const auto kind = bytes.take<std::uint8_t>();
        const int ndim = kind % 8;
        lie.tensor.data = reinterpret_cast<void*>(bytes.take<std::uintptr_t>());
        lie.tensor.device = {kind & 8 ? 1 : bytes.take<std::uint8_t>(), 0};
        lie.tensor.type = {static_cast<std::uint8_t>(kind & 16 ? 2 : bytes.take<std::uint8_t>()),
                           static_cast<std::uint8_t>(kind & 16 ? 32 : bytes.take<std::uint8_t>()),
                           1};
        lie.tensor.ndim = ndim;
        for (int i = 0; i < ndim; ++i) lie.shape.push_back(bytes.number());
        if (kind & 32)
            for (int i = 0; i < ndim; ++i) lie.strides.push_back(bytes.number());
        lie.tensor.shape = lie.shape.data();
        lie.tensor.strides = kind & 32 ? lie.strides.data() : nullptr;
        tensors.push_back(kind & 64 ? nullptr : &lie.tensor);
    }
    std::vector<cupola_op_scalar> scalars(declaration.scalars.size());
    for (cupola_op_scalar& scalar : scalars) scalar.integer = bytes.number();
    std::vector<unsigned char> batched(tensors.size(), bytes.take<std::uint8_t>() & 1);
    cupola_op_call given{};
    given.size = sizeof given;
    given.tensors = tensors.data();
    given.tensor_count = tensors.size();
    given.scalars = scalars.data();
    given.scalar_count = scalars.size();
    if (declaration.batch != cupola::Declaration::none) {
        given.batched = batched.data();
        given.batch = bytes.number();
    }
    try {
        const cupola::OperationCall checked(declaration, given);
        // An accepted call has a type for each variable.
        for (std::size_t i = 0; i < declaration.variables.size(); ++i)
            if (!checked.types()[i].bits) std::abort();
    } catch (const cupola::Error& error) {
        if (error.text.compare(0, declaration.name.size(), declaration.name) != 0) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    Bytes bytes({reinterpret_cast<const char*>(data), size});
    const std::string_view declared = bytes.part(bytes.take<std::uint16_t>());
    cupola::Declaration declaration;
    try {
        declaration = cupola::read_declaration(declared);
    } catch (const cupola::Error& error) {
        if (error.text.find(" is invalid: ") == std::string::npos) std::abort();
        return 0;
    }
    if (declaration.name.empty() || declaration.variants.empty()) std::abort();
    std::string_view rest = bytes.part(size);
    for (int calls = 0; calls < 4; ++calls) {
        call(declaration, rest);
        rest.remove_prefix(std::min<std::size_t>(rest.size(), 7));
    }
    return 0;
}
