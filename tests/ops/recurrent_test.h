// Data that the tests of recurrent ops share.
#pragma once

#include <cmath>

#include "belfry/base/random.h"
#include "tests/ops/op_test.h"
#include "tests/support/rounding.h"

namespace belfry {

inline Array random_array(const Shape& shape, std::uint64_t seed) {
  RandomStream stream(seed);
  Array out(f32, shape);
  for (float& v : out.values<float>()) v = static_cast<float>(stream.uniform() - 0.5);
  return out;
}

// -0.3, -0.2, ... 0.3, -0.3, ...: numbers that are easy to make in Python too.
inline Array pattern_array(const Shape& shape, double offset = 0) {
  Array out(f32, shape);
  for (std::int64_t i = 0; i < out.elements(); ++i) out.set_item(i, static_cast<double>(i % 7) / 10 - 0.3 + offset);
  return out;
}

inline Tensor lengths_of(std::initializer_list<std::int64_t> values) {
  return constant(Array::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

inline double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

// bias[j] + sum over k of x[row, k] w[k, j]: one sum of a step, by definition.
inline double step_sum(const std::vector<double>& x, std::int64_t row, const Array& w, std::int64_t j, double bias) {
  const std::int64_t depth = w.shape()[0], columns = w.shape()[1];
  for (std::int64_t k = 0; k < depth; ++k)
    bias += x[static_cast<std::size_t>(row * depth + k)] * w.item(k * columns + j);
  return bias;
}

inline std::vector<double> doubles(const Array& a) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < a.elements(); ++i) out.push_back(a.item(i));
  return out;
}

// How far f32 may be from the definition. Each step adds the roundings of its sums, whose terms are up to a half and
// have random signs; gates do not enlarge them. x [time, batch, features], state [batch, units].
inline double sequence_bound(const Array& x, const Array& state) {
  const auto time = static_cast<double>(x.shape()[0]), terms = static_cast<double>(x.shape()[2] + state.shape()[1]);
  return likely_rounding_bound(time * (terms + 12), 1 + std::sqrt(terms) / 2);
}

class RecurrentTest : public OpTest {
 protected:
  template <class Number>
  void expect_near(const Tensor& t, const std::vector<Number>& wanted, double tolerance, const char* what) {
    const std::vector<float> got = floats(t);
    ASSERT_EQ(got.size(), wanted.size()) << what;
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], tolerance) << what << " " << i;
  }
};

}  // namespace belfry
