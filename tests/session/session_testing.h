// What tests of sessions share: a current graph, variables with given values, the text of an expected error.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/base/error.h"
#include "belfry/base/log.h"
#include "belfry/graph/collections.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/pointwise.h"
#include "belfry/session/session.h"
#include "tests/support/errors.h"

namespace belfry::testing_support {

// An op that passes its input on, after `act`.
inline OpRegistration define_acting_op(std::string_view name, std::function<void()> act) {
  return define_op(name)
      .input("x")
      .output("y")
      .shape([](const ShapeContext& c) { return c.input(0); })
      .stateful()
      .not_differentiable()
      .kernel([act = std::move(act)](std::span<const Array> in, std::span<Array> out) {
        act();
        out[0] = in[0];
      })
      .doc("Does what the test wants.");
}

class GraphTest : public testing::Test {
 protected:
  static Variable var(std::string_view name, const Array& value, bool trainable = false,
                      std::vector<std::string> collections = {}) {
    return get_variable(name, {.shape = value.shape(),
                               .dtype = value.dtype(),
                               .initializer = [value](const Shape&, DType) { return constant(value); },
                               .trainable = trainable,
                               .collections = std::move(collections)});
  }

  Graph graph;
  GraphScope scope{graph};
};

// A variable with a momentum and a variance, updated by a step: what an optimizer keeps, as plain variables.
struct Model {
  Variable w, m, v, steps;
  Operation train;

  explicit Model(std::string_view prefix = "") {
    const auto named = [&](std::string_view name) { return std::string(prefix) + std::string(name); };
    const auto make = [&](std::string_view name, const Array& value, bool trainable) {
      return get_variable(named(name), {.shape = value.shape(),
                                        .dtype = value.dtype(),
                                        .initializer = [value](const Shape&, DType) { return constant(value); },
                                        .trainable = trainable});
    };
    w = make("fc/W", Array::of<float>({2, 3}, {1, -2, 3, 0.1f, 1e-30f, 7}), true);
    m = make("fc/W/adam_m", Array::zeros(f32, {2, 3}), false);
    v = make("fc/W/adam_v", Array::zeros(f32, {2, 3}), false);
    steps = make("steps", Array(std::int64_t{0}), false);
    const Tensor gradient = w * 0.3f;
    const Tensor new_m = m.assign(m * 0.9f + gradient * 0.1f);
    const Tensor new_v = v.assign(v * 0.99f + square(gradient) * 0.01f);
    train = group({w.assign_sub(new_m / (sqrt(new_v) + 1e-8f) * 0.01f), steps.assign_add(1)});
  }

  std::vector<Variable> variables() const { return {w, m, v, steps}; }
};

inline std::vector<Array> values_in(const Session& session, const Model& model) {
  std::vector<Array> out;
  for (const Variable& variable : model.variables()) out.push_back(session.value(variable));
  return out;
}

inline bool all_equal(const std::vector<Array>& a, const std::vector<Array>& b) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i) same = equal(a[i], b[i]);
  return same;
}

// The warnings and errors that are logged while it lives.
struct LogLines {
  std::string text;
  LogRedirect redirect{[this](LogLevel, std::string_view line) { text += std::string(line) + "\n"; },
                       LogLevel::warning};
};

}  // namespace belfry::testing_support
