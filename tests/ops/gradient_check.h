// Numeric checks of gradients. A row names the ops it covers, a function from inputs to one output, and lists of input
// shapes; it becomes a test of its own, and the registry test fails a differentiable op that no row covers.
//
//   const bool matmul_row = gradient_row("MatMul", {"MatMul"}, [](const Tensors& x) { return matmul(x[0], x[1]); },
//                                        {{{2, 3}, {3, 4}}, {{0, 3}, {3, 4}}});
//
// For each list of shapes: gradients in f64 against central differences, for a random gradient of the output; the same
// graph with every dimension unknown; f32 against f64; and all of it again for the gradients themselves (second order).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "belfry/base/random.h"
#include "belfry/graph/gradients.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/basic.h"
#include "belfry/session/session.h"
#include "tests/ops/never_run.h"

namespace belfry {

using Maker = std::function<Tensor(const Tensors& inputs)>;
using ShapeList = std::vector<Shape>;

struct CheckOptions {
  double low = -1, high = 1;       // inputs are uniform in [low, high)
  double tolerance = 1e-6;         // of f64, relative to max(1, |value|)
  double tolerance_f32 = 1e-4;     // of f32 against f64
  bool unknown_dimensions = true;  // also with every dimension unknown
  bool second_order = true;
};

class GradientCheck {
 public:
  GradientCheck(Maker maker, ShapeList shapes, CheckOptions options)
      : maker_(std::move(maker)), shapes_(std::move(shapes)), options_(options) {
    RandomStream random(mix_seed(17, shapes_.size()));
    for (const Shape& shape : shapes_) inputs_.push_back(draw(shape, random));
    build(f64, false);
    output_shape_ = eval({y_}, feeds())[0].shape();
    dy_value_ = draw(output_shape_, random);
  }

  // The types of all ops that were made.
  const std::set<std::string>& ops() const { return ops_; }

  void run() {
    const std::vector<Array> exact = results();
    check_differences(exact);
    run_on_test_device(exact, 1e-12);
    build(f32, false);
    const std::vector<Array> rounded = results();
    compare(rounded, exact, options_.tolerance_f32, "f32 against f64");
    run_on_test_device(rounded, options_.tolerance_f32);
    if (!options_.unknown_dimensions) return;
    build(f64, true);
    compare(results(), exact, 1e-12, "unknown dimensions against known ones");
    run_on_test_device(exact, 1e-12);
  }

  // Checks each input's gradient as a function of the inputs and of the output's gradient.
  void run_second_order() {
    ShapeList shapes = shapes_;
    shapes.push_back(output_shape_);
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      if (!dx_[i]) continue;
      SCOPED_TRACE("second order, through the gradient of input " + std::to_string(i));
      const Maker gradient = [this, i](const Tensors& x) {
        const Tensors inputs(x.begin(), x.end() - 1);
        return gradients({maker_(inputs)}, inputs, {.grad_ys = {x.back()}})[i];
      };
      GradientCheck check(gradient, shapes, options_);
      check.run();
      ops_.insert(check.ops().begin(), check.ops().end());
    }
  }

 private:
  Array draw(const Shape& shape, RandomStream& random) const {
    Array out(f64, shape);
    for (double& v : out.values<double>()) v = options_.low + (options_.high - options_.low) * random.uniform();
    return out;
  }

  void build(DType dtype, bool unknown) {
    session_.reset();
    graph_ = std::make_unique<Graph>();
    const GraphScope scope(*graph_);
    x_.clear();
    for (const Shape& shape : shapes_) x_.push_back(placeholder(dtype, unknown ? any_of_rank(shape) : shape));
    y_ = maker_(x_);
    dy_ = placeholder(dtype, y_.shape());
    dx_ = gradients({y_}, x_, {.grad_ys = {dy_}});
    for (const auto& node : graph_->nodes()) ops_.insert(node->def->name);
    session_ = std::make_unique<Session>(*graph_);
  }

  static Shape any_of_rank(const Shape& shape) {
    Shape out;
    for (int i = 0; i < shape.rank(); ++i) out.push_back(kAny);
    return out;
  }

  Feeds feeds() const {
    Feeds out;
    for (std::size_t i = 0; i < x_.size(); ++i) out.emplace_back(x_[i], inputs_[i].cast(x_[i].dtype()));
    return out;
  }

  std::vector<Array> eval(const Tensors& fetches, Feeds feeds) {
    session_->set_random_counter(1);  // random ops draw the same numbers every time
    return session_->run(std::vector<Fetch>(fetches.begin(), fetches.end()), feeds);
  }

  // The output, then the gradients; empty where there is none.
  std::vector<Array> results() {
    std::vector<Array> out = eval({y_}, feeds());
    Feeds all = feeds();
    all.emplace_back(dy_, dy_value_.cast(dy_.dtype()));
    for (const Tensor& dx : dx_) out.push_back(dx ? eval({dx}, all)[0] : Array());
    return out;
  }

  // The same graph on a device of the kind "test" (engine/testing), to which nothing of the CPU's plans applies; in
  // programs that have it.
  void run_on_test_device(const std::vector<Array>& wanted, double tolerance) {
    if (!std::ranges::count(device_kinds(), "test")) return;
    session_ = std::make_unique<Session>(*graph_, SessionConfig{.devices = {{.kind = "test"}}});
    compare(results(), wanted, tolerance, "a test device against the CPU");
  }

  // sum(y * dy)
  double objective() {
    const Array y = eval({y_}, feeds())[0];
    double sum = 0;
    for (std::int64_t i = 0; i < y.elements(); ++i) sum += y.item(i) * dy_value_.item(i);
    return sum;
  }

  void check_differences(const std::vector<Array>& exact) {
    constexpr double kStep = 1e-5;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      if (dx_[k]) {
        ASSERT_EQ(exact[k + 1].shape(), shapes_[k]) << "gradient of input " << k;
      }
      for (std::int64_t i = 0; i < inputs_[k].elements(); ++i) {
        const double x = inputs_[k].item(i);
        inputs_[k].set_item(i, x + kStep);
        const double above = objective();
        inputs_[k].set_item(i, x - kStep);
        const double below = objective();
        inputs_[k].set_item(i, x);
        const double numeric = (above - below) / (2 * kStep), analytic = dx_[k] ? exact[k + 1].item(i) : 0;
        ASSERT_NEAR(analytic, numeric, options_.tolerance * std::max(1.0, std::abs(numeric)))
            << "gradient of input " << k << ", element " << i;
      }
    }
  }

  void compare(const std::vector<Array>& got, const std::vector<Array>& wanted, double tolerance, const char* what) {
    ASSERT_EQ(got.size(), wanted.size()) << what;
    for (std::size_t k = 0; k < got.size(); ++k) {
      ASSERT_EQ(got[k].shape(), wanted[k].shape()) << what << ", result " << k;
      for (std::int64_t i = 0; i < got[k].elements(); ++i)
        ASSERT_NEAR(got[k].item(i), wanted[k].item(i), tolerance * std::max(1.0, std::abs(wanted[k].item(i))))
            << what << (k == 0 ? ", output" : ", gradient of an input") << ", result " << k << ", element " << i;
    }
  }

  Maker maker_;
  ShapeList shapes_;
  CheckOptions options_;
  std::vector<Array> inputs_;
  Array dy_value_;
  Shape output_shape_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<Session> session_;
  Tensors x_, dx_;
  Tensor y_, dy_;
  std::set<std::string> ops_;
};

inline void check_gradient(const Maker& maker, const ShapeList& shapes, const CheckOptions& options = {}) {
  GradientCheck(maker, shapes, options).run();
}
inline void check_second_order(const Maker& maker, const ShapeList& shapes, const CheckOptions& options = {}) {
  GradientCheck(maker, shapes, options).run_second_order();
}

// The ops that some row of this test program covers.
inline std::set<std::string>& covered_ops() {
  static std::set<std::string> ops;
  return ops;
}

// Those that some row covers to second order.
inline std::set<std::string>& twice_covered_ops() {
  static std::set<std::string> ops;
  return ops;
}

struct GradientRow {
  std::vector<std::string> ops;
  Maker maker;
  std::vector<ShapeList> shapes;
  CheckOptions options;
};

class GradientRowTest : public testing::Test {
 public:
  explicit GradientRowTest(GradientRow row) : row_(std::move(row)) {}
  void TestBody() override {
    std::set<std::string> made;
    for (const ShapeList& shapes : row_.shapes) {
      std::string text;
      for (const Shape& shape : shapes) text += to_string(shape) + " ";
      SCOPED_TRACE("shapes " + text);
      GradientCheck check(row_.maker, shapes, row_.options);
      check.run();
      if (row_.options.second_order) check.run_second_order();
      made.insert(check.ops().begin(), check.ops().end());
    }
    for (const std::string& op : row_.ops) {
      EXPECT_TRUE(made.contains(op)) << "the row claims to cover " << op << ", which it never makes";
      expect_that_it_ran(op);
    }
  }

 private:
  GradientRow row_;
};

inline bool gradient_row(const char* name, std::vector<std::string> ops, Maker maker, std::vector<ShapeList> shapes,
                         const CheckOptions& options = {}) {
  covered_ops().insert(ops.begin(), ops.end());
  if (options.second_order) twice_covered_ops().insert(ops.begin(), ops.end());
  const GradientRow row{std::move(ops), std::move(maker), std::move(shapes), options};
  testing::RegisterTest("GradientCheck", name, nullptr, nullptr, __FILE__, __LINE__,
                        [row]() -> GradientRowTest* { return new GradientRowTest(row); });
  return true;
}

}  // namespace belfry
