#include "belfry/dataflow/sources/fake.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "belfry/base/check.h"
#include "belfry/base/random.h"
#include "belfry/dataflow/indexed_flow.h"

namespace belfry {
namespace {

template <class T>
void fill_floats(std::span<T> to, const FakeSpec& spec, RandomStream& random) {
  const T below_high = std::nextafter(static_cast<T>(spec.high), static_cast<T>(spec.low));
  for (T& value : to)  // rounding may reach `high`
    value = std::min(static_cast<T>(spec.low + (spec.high - spec.low) * random.uniform()), below_high);
}

template <class T>
void fill_integers(std::span<T> to, const FakeSpec& spec, RandomStream& random) {
  const auto values = static_cast<std::uint64_t>(spec.high - spec.low);
  for (T& value : to)
    value = static_cast<T>(static_cast<std::int64_t>(spec.low) + static_cast<std::int64_t>(random.below(values)));
}

template <class T>
std::span<T> elements(const FakeSpec& spec, void* to) {
  return {static_cast<T*>(to), static_cast<std::size_t>(spec.shape.elements())};
}

void fill(const FakeSpec& spec, void* to, RandomStream& random) {
  switch (spec.dtype) {
    case DType::f32: return fill_floats(elements<float>(spec, to), spec, random);
    case DType::f64: return fill_floats(elements<double>(spec, to), spec, random);
    case DType::i32: return fill_integers(elements<std::int32_t>(spec, to), spec, random);
    case DType::i64: return fill_integers(elements<std::int64_t>(spec, to), spec, random);
    case DType::u8: return fill_integers(elements<std::uint8_t>(spec, to), spec, random);
    case DType::boolean:
      for (bool& value : elements<bool>(spec, to)) value = random.below(2) == 1;
      return;
  }
}

// The integers that a double counts without gaps bound those of i64.
double lowest_of(DType dtype) {
  if (dtype == u8) return 0;
  return dtype == i32 ? std::numeric_limits<std::int32_t>::min() : -0x1p52;
}
double highest_of(DType dtype) {
  if (dtype == u8) return std::numeric_limits<std::uint8_t>::max();
  return dtype == i32 ? std::numeric_limits<std::int32_t>::max() : 0x1p52;
}

void check(const FakeSpec& spec) {
  BELFRY_CHECK(spec.shape.is_concrete(), "[fake_data] expected a shape without unknown dimensions, got {}.",
               to_string(spec.shape));
  BELFRY_CHECK(std::isfinite(spec.low) && std::isfinite(spec.high) && spec.low < spec.high,
               "[fake_data] expected finite limits with low < high, got {} and {}.", spec.low, spec.high);
  if (!is_integer(spec.dtype)) return;
  const bool whole = std::trunc(spec.low) == spec.low && std::trunc(spec.high) == spec.high;
  BELFRY_CHECK(whole && spec.low >= lowest_of(spec.dtype) && spec.high <= highest_of(spec.dtype) + 1,
               "[fake_data] expected whole limits between {} and {} for {}, got {} and {}.", lowest_of(spec.dtype),
               highest_of(spec.dtype) + 1, name_of(spec.dtype), spec.low, spec.high);
}

FlowIdentity identity_of(const std::vector<FakeSpec>& components, const FakeOptions& options) {
  FlowIdentity identity{.kind = "fake_data",
                        .parameters = {{"size", options.size}, {"seed", options.seed}, {"fixed", options.fixed}}};
  for (const FakeSpec& spec : components)
    identity.parameters.emplace_back("component", fmt::format("{} {} from {} to {}", name_of(spec.dtype),
                                                              to_string(spec.shape), spec.low, spec.high));
  return identity;
}

class FakeFlow final : public IndexedFlow {
 public:
  FakeFlow(std::vector<FakeSpec> components, const FakeOptions& options)
      : IndexedFlow(identity_of(components, options)), components_(std::move(components)), options_(options) {
    for (const FakeSpec& component : components_) {
      check(component);
      spec_.push_back({component.dtype, component.shape});
    }
    if (options_.fixed) fixed_ = make(0);
  }

  std::int64_t count() const override { return options_.size; }
  DataPoint at(std::int64_t index) const override { return options_.fixed ? fixed_ : make(index); }

  const std::vector<ComponentSpec>* row_spec() const override { return spec_.empty() ? nullptr : &spec_; }
  void read_row(std::int64_t index, std::span<void* const> rows) const override {
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (!options_.fixed) {
        make_component(index, k, rows[k]);
      } else if (fixed_[k].bytes() > 0) {
        std::memcpy(rows[k], fixed_[k].raw(), fixed_[k].bytes());
      }
    }
  }

  FlowState state() const override {
    FlowState state = IndexedFlow::state();
    state.numbers.emplace_back("seed", options_.seed);
    return state;
  }
  void restore(const FlowState& state) override {
    state.expect("fake_data", 0);
    state.expect_number("seed", options_.seed);
    IndexedFlow::restore(state);
  }

 private:
  void make_component(std::int64_t index, std::size_t k, void* to) const {
    RandomStream random(mix_seed(mix_seed(mix_seed(options_.seed, epoch()), static_cast<std::uint64_t>(index)), k));
    fill(components_[k], to, random);
  }

  DataPoint make(std::int64_t index) const {
    DataPoint point;
    for (std::size_t k = 0; k < components_.size(); ++k) {
      point.emplace_back(components_[k].dtype, components_[k].shape);
      make_component(index, k, point[k].raw());
    }
    return point;
  }

  const std::vector<FakeSpec> components_;
  const FakeOptions options_;
  std::vector<ComponentSpec> spec_;
  DataPoint fixed_;  // if that is asked for
};

}  // namespace

Flow fake_data(std::vector<FakeSpec> components, FakeOptions options) {
  BELFRY_CHECK(options.size >= 0, "[fake_data] expected a size of 0 or more points, got {}.", options.size);
  return std::make_shared<FakeFlow>(std::move(components), options);
}

}  // namespace belfry
