#include "belfry/input/graph_inputs.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/base/internal/nearest.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/random.h"

namespace belfry {

TensorInput::TensorInput(std::function<Tensors()> make, std::optional<std::int64_t> size)
    : make_(std::move(make)), size_(size) {
  BELFRY_CHECK(make_ != nullptr, "[TensorInput] expected a function that makes the tensors, got none.");
  BELFRY_CHECK(!size || *size >= 1,
               "[TensorInput] expected a size of 1 or more runs, got {}. Omit it if a pass has no end.", *size);
}

Tensors TensorInput::make_tensors() {
  Tensors out = make_();
  BELFRY_CHECK(out.size() == signature().size(),
               "[TensorInput] expected {} tensors, one for each input, got {} (at {}).", signature().size(), out.size(),
               to_string(where()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const TensorSpec& spec = signature()[i];
    BELFRY_CHECK(out[i] && out[i].dtype() == spec.dtype && compatible(out[i].shape(), spec.shape),
                 "[TensorInput] input '{}' expects {} {}, tensor {} is {} (at {}).", spec.name, name_of(spec.dtype),
                 to_string(spec.shape), i, to_string(out[i]), to_string(where()));
  }
  return out;
}

// Variables, because the compiler would compute what follows from constants once and for all.
Tensors DummyConstantInput::make_tensors() {
  const LocationScope line(where());
  BELFRY_CHECK(shapes_.empty() || shapes_.size() == signature().size(),
               "[DummyConstantInput] expected {} shapes, one for each input, got {} (at {}).", signature().size(),
               shapes_.size(), to_string(where()));
  Tensors out;
  for (std::size_t i = 0; i < signature().size(); ++i) {
    const TensorSpec& spec = signature()[i];
    const Shape shape = shapes_.empty() ? spec.shape : shapes_[i];
    BELFRY_CHECK(
        shape.is_concrete() && compatible(shape, spec.shape),
        "[DummyConstantInput] input '{}' expects a concrete shape that fits {}, got {} (at {}). Pass the shapes.",
        spec.name, to_string(spec.shape), to_string(shape), to_string(where()));
    const auto values = [](const Shape& s, DType dtype) {
      return is_float(dtype) ? cast(random_uniform(s), dtype) : constant(Array::zeros(dtype, s));
    };
    out.push_back(new_variable("dummy_" + spec.name, {.shape = shape,
                                                      .dtype = spec.dtype,
                                                      .initializer = values,
                                                      .collections = {std::string(collection::kLocalVariables)}}));
  }
  return out;
}

Tensors PlaceholderInput::make_tensors() {
  Tensors out;
  for (const TensorSpec& spec : signature()) out.push_back(placeholder(spec, where()));
  return out;
}

namespace {

class RemappedInput final : public InputSource {
 public:
  RemappedInput(InputSourcePtr input, std::vector<std::string> names)
      : input_(std::move(input)), names_(std::move(names)) {}
  std::string name() const override { return "remap_input"; }
  std::optional<std::int64_t> size() const override { return input_->size(); }
  // Inputs that it does not give are placeholders; which these are is known once it is set up.
  bool feed_free() const override {
    return input_->feed_free() && (!is_set_up() || names_.size() == signature().size());
  }
  bool endless() const override { return input_->endless(); }
  bool staged() const override { return input_->staged(); }
  void check_first_point() override { input_->check_first_point(); }
  void cancel_check() override { input_->cancel_check(); }
  void reset_state() override { input_->reset_state(); }
  void taken_through(const Tensors& gets) override { input_->taken_through(gets); }

 protected:
  Callbacks make_callbacks() override {
    std::vector<TensorSpec> inner;
    std::vector<std::string> known;
    for (const TensorSpec& spec : signature()) known.push_back(spec.name);
    for (auto name_at = names_.begin(); name_at != names_.end(); ++name_at) {
      const std::string& name = *name_at;
      BELFRY_CHECK(std::find(names_.begin(), name_at, name) == name_at,
                   "[remap_input] expected each input once, got '{}' twice.", name);
      const auto at = std::ranges::find(known, name);
      if (at == known.end())
        fail("[remap_input] expected names of inputs, got '{}'.{}", name, did_you_mean(name, known));
      inner.push_back(signature()[static_cast<std::size_t>(at - known.begin())]);
    }
    return input_->setup(inner, where());
  }

  Tensors make_tensors() override {
    const Tensors given = input_->get_input_tensors(where());
    Tensors out;
    for (const TensorSpec& spec : signature()) {
      const auto at = std::ranges::find(names_, spec.name);
      out.push_back(at == names_.end() ? placeholder(spec, where())
                                       : given[static_cast<std::size_t>(at - names_.begin())]);
    }
    return out;
  }

 private:
  InputSourcePtr input_;
  std::vector<std::string> names_;
};

}  // namespace

InputSourcePtr remap_input(InputSourcePtr input, std::vector<std::string> names) {
  return RemappedInput(std::move(input), std::move(names));
}

}  // namespace belfry
