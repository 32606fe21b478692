// An op of the user's own: shape rule, kernel and gradient in one statement, nothing else to edit.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <stdexcept>

#include "belfry/base/error.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/pointwise.h"
#include "belfry/session/session.h"
#include "tests/ops/gradient_check.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

template <class T>
void soft_sign(const Array& x, Array& y) {
  for (std::size_t i = 0; i < y.values<T>().size(); ++i)
    y.values<T>()[i] = x.values<T>()[i] / (1 + std::abs(x.values<T>()[i]));
}

// y = x / (1 + |x|),  dx = dy / (1 + |x|)^2
const OpRegistration soft_sign_op =
    define_op("UserSoftSign")
        .input("x")
        .output("y")
        .shape([](const ShapeContext& c) { return c.input(0); })
        .kernel([](std::span<const Array> in, std::span<Array> out) {
          if (in[0].dtype() == f64)
            soft_sign<double>(in[0], out[0]);
          else
            soft_sign<float>(in[0], out[0]);
        })
        .gradient([](const GradientContext& c) { return Tensors{c.grad() / square(abs(c.input(0)) + 1.f)}; })
        .doc("x / (1 + |x|)");

Tensor soft_sign(const Operand& x, std::string_view name = "") { return add_tensor(soft_sign_op, {x}, {.name = name}); }

class UserOpTest : public testing::Test {
 protected:
  Graph graph;
  GraphScope scope{graph};
};

TEST_F(UserOpTest, RunsLikeAnyOtherOp) {
  const Tensor x = placeholder({"x", f32, {kAny}});
  const Tensor y = soft_sign(x * 2.f) + 1.f;
  EXPECT_EQ(y.shape(), Shape({kAny}));
  const Array out = Session(graph).run(y, {{x, Array::of<float>({3}, {-1.f, 0.f, 0.5f})}});
  EXPECT_FLOAT_EQ(out.values<float>()[0], 1.f - 2.f / 3);
  EXPECT_FLOAT_EQ(out.values<float>()[1], 1.f);
  EXPECT_FLOAT_EQ(out.values<float>()[2], 1.5f);
}

TEST_F(UserOpTest, ItsGradientPassesTheNumericCheckTwice) {
  const Maker maker = [](const Tensors& x) { return soft_sign(x[0] * x[1]); };
  check_gradient(maker, {{3, 4}, {4}}, {.low = 0.2, .high = 1});
  check_second_order(maker, {{2, 2}, {2}}, {.low = 0.2, .high = 1});
}

TEST_F(UserOpTest, SeveralInputsOutputsAndAttributes) {
  static const OpRegistration divide_op =
      define_op("UserDivide")
          .input("a")
          .input("b")
          .output("quotient")
          .output("rest")
          .shape([](const ShapeContext& c) { return Shapes{c.input(0), c.input(0)}; })
          .kernel([](std::span<const Array> in, std::span<Array> out) {
            for (std::int64_t i = 0; i < in[0].elements(); ++i) {
              const auto a = static_cast<std::int64_t>(in[0].item(i)), b = static_cast<std::int64_t>(in[1].item(i));
              out[0].set_item(i, static_cast<double>(a / b));
              out[1].set_item(i, static_cast<double>(a % b));
            }
          })
          .not_differentiable()
          .doc("Quotient and remainder.");
  Node* node = add_op(divide_op,
                      {constant(Array::of<std::int32_t>({2}, {17, 9})), constant(Array::of<std::int32_t>({2}, {5, 3}))},
                      {.name = "divide"});
  const std::vector<Array> out = Session(graph).run({node->output(0), node->output(1)});
  EXPECT_EQ(out[0].item(0), 3);
  EXPECT_EQ(out[1].item(0), 2);
  EXPECT_EQ(out[1].item(1), 0);
  EXPECT_EQ(graph.get_tensor_by_name("divide:1"), node->output(1));
}

// y = x * slope where x < 0
const OpRegistration leaky_op = define_op("UserLeaky")
                                    .input("x")
                                    .output("y")
                                    .shape([](const ShapeContext& c) { return c.input(0); })
                                    .kernel([](const HostKernelContext& c) {
                                      const double slope = c.attributes().get<double>("slope");
                                      for (std::int64_t i = 0; i < c.input().elements(); ++i)
                                        c.output().set_item(i, c.input().item(i) * (c.input().item(i) < 0 ? slope : 1));
                                    })
                                    .not_differentiable()
                                    .doc("x, or x * slope where it is negative.");

TEST_F(UserOpTest, AKernelSeesItsAttributes) {
  const Tensor x = constant(Array::of<float>({2}, {-4, 4}));
  const Tensor half = add_tensor(leaky_op, {x}, {.attributes = {{"slope", 0.5}}});
  const Tensor flat = add_tensor(leaky_op, {x}, {.attributes = {{"slope", 0.0}}});
  const std::vector<Array> out = Session(graph).run({half, flat});
  EXPECT_EQ(out[0].item(0), -2);
  EXPECT_EQ(out[0].item(1), 4);
  EXPECT_EQ(out[1].item(0), 0);
}

TEST_F(UserOpTest, AMissingAttributeNamesTheOpAndItsLine) {
  const auto error_with = [this](const Attributes& attributes) {
    const Tensor y = add_tensor(leaky_op, {constant(1.f)}, {.attributes = attributes});
    return error_of([&] { Session(graph).run(y); });
  };
  const std::string made = " (made at user_op_test.cc:" + std::to_string(__LINE__ - 3) + ") (called at ";
  EXPECT_EQ(error_with({}).find("[UserLeaky 'UserLeaky'] expected an attribute 'slope', got none" + made), 0U);
  EXPECT_EQ(error_with({{"slop", 0.1}})
                .find("[UserLeaky 'UserLeaky_1'] expected an attribute 'slope', got only 'slop'" + made),
            0U);
  EXPECT_EQ(error_with({{"slope", 2}})
                .find("[UserLeaky 'UserLeaky_2'] expected an attribute 'slope' of the type that was requested, got 2 "
                      "of another type" +
                      made),
            0U);
}

TEST_F(UserOpTest, GetsPlainArraysWhateverTheLayoutAround) {
  const Tensor x = placeholder({"x", f32, {1, 4, 4, 5}});
  const Variable w = get_variable("w", {.shape = {1, 1, 5, 5}, .initializer = [](const Shape& s, DType) {
                                          Array eye = Array::zeros(f32, s);
                                          for (int i = 0; i < 5; ++i) eye.set_item(i * 6, 1);
                                          return constant(eye);
                                        }});
  const Tensor y = conv2d(soft_sign(conv2d(x, w)), w);  // blocked on both sides
  Array in(f32, {1, 4, 4, 5});
  for (std::int64_t i = 0; i < in.elements(); ++i) in.set_item(i, static_cast<double>(i));
  Session session(graph);
  session.initialize();
  const Array out = session.run(y, {{x, in}});
  for (std::int64_t i = 0; i < in.elements(); ++i)
    ASSERT_NEAR(out.item(i), static_cast<double>(i) / static_cast<double>(1 + i), 1e-6);
}

TEST_F(UserOpTest, IsNotFoldedOrMergedAndRunsEveryTime) {
  static std::atomic<int> calls = 0;
  static const OpRegistration counter_op =
      define_op("UserCounter")
          .input("x")
          .output("y")
          .shape([](const ShapeContext& c) { return c.input(0); })
          .kernel([](std::span<const Array>, std::span<Array> out) { out[0].set_item(0, ++calls); })
          .not_differentiable()
          .doc("Counts its runs.");
  const Tensor one = constant(1.f);
  const Tensor sum = add_tensor(counter_op, {one}) + add_tensor(counter_op, {one});
  Session session(graph);
  EXPECT_EQ(calls, 0) << "nothing runs while defining";
  session.run(sum);
  EXPECT_EQ(calls, 2);
  session.run(sum);
  EXPECT_EQ(calls, 4);
}

TEST_F(UserOpTest, AnEffectRunsForAControlEdgeAndForNoElementsToo) {
  static std::atomic<std::int64_t> seen = -1;
  static const OpRegistration report_op =
      define_op("UserReport")
          .input("x")
          .output("y")
          .shape([](const ShapeContext& c) { return c.input(0); })
          .side_effect()
          .kernel([](std::span<const Array> in, std::span<Array>) { seen = in[0].elements(); })
          .not_differentiable()
          .doc("Remembers how much it saw.");
  const Tensor x = placeholder({"x", f32, {kAny}});
  const Operation step = group({add_tensor(report_op, {x})});
  Session session(graph);
  for (const std::int64_t n : {3, 0, 2}) {
    session.run(step, {{x, Array::zeros(f32, {n})}});
    EXPECT_EQ(seen, n);
  }
}

// Throws what `kind` says: 1 a belfry::Error, 2 a NumericError, 3 an exception of the standard library, 4 an int.
std::atomic<int> kind = 0;
const OpRegistration failing_op = define_op("UserFailing")
                                      .input("x")
                                      .output("y")
                                      .shape([](const ShapeContext& c) { return c.input(0); })
                                      .kernel([](std::span<const Array> in, std::span<Array> out) {
                                        if (kind == 1) throw Error("expected luck, got none");
                                        if (kind == 2) throw NumericError("expected a number, got NaN");
                                        if (kind == 3) throw std::out_of_range("vector::at");
                                        if (kind == 4) throw 4;
                                        out[0].set_item(0, in[0].item() * 2);
                                      })
                                      .not_differentiable()
                                      .doc("Fails when told to.");

TEST_F(UserOpTest, AnErrorInTheKernelNamesTheOpAndItsLineAndTheSessionGoesOn) {
  const Tensor y = add_tensor(failing_op, {constant(21.f)}, {.name = "block/mine"});
  const auto line = [](int number) { return "user_op_test.cc:" + std::to_string(number); };
  const std::string made = " (made at " + line(__LINE__ - 2) + ") (called at " + line(__LINE__ + 5) + ").";
  Session session(graph);
  const auto text_of = [&](int what) {
    kind = what;
    try {
      session.run(y);
    } catch (const Error& e) {
      kind = 0;
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(text_of(1), "[UserFailing 'block/mine'] expected luck, got none" + made);
  EXPECT_EQ(session.run(y).item(), 42);
  EXPECT_EQ(text_of(3), "[UserFailing 'block/mine'] vector::at" + made);
  EXPECT_EQ(session.run(y).item(), 42);
  kind = 2;
  EXPECT_THROW(session.run(y), NumericError);
  EXPECT_EQ(text_of(2), "[UserFailing 'block/mine'] expected a number, got NaN" + made);
  kind = 4;
  EXPECT_THROW(session.run(y), int) << "what is no exception passes as it is";
  kind = 0;
  EXPECT_EQ(session.run(y).item(), 42);
}

TEST_F(UserOpTest, MistakesInTheDefinitionAreErrors) {
  const ShapeRule same = [](const ShapeContext& c) { return c.input(0); };
  EXPECT_NE(error_of([&] {
              const OpRegistration op = define_op("UserNoShape").input("x").output("y").not_differentiable();
              static_cast<void>(op);
            }).find("[define_op 'UserNoShape'] expected a shape rule, got none. Add .shape(...)."),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              const OpRegistration op = define_op("UserNoGradient").input("x").output("y").shape(same);
              static_cast<void>(op);
            })
                .find("[define_op 'UserNoGradient'] expected a gradient, got none. Add .gradient(...) or "
                      ".not_differentiable()."),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              const OpRegistration op =
                  define_op("UserSoftSign").input("x").output("y").shape(same).not_differentiable();
              static_cast<void>(op);
            }).find("[define_op 'UserSoftSign'] expected a new name, got one that is registered already."),
            std::string::npos);
}

TEST_F(UserOpTest, AShapeRulesComplaintNamesTheOp) {
  static const OpRegistration square_matrix_op =
      define_op("UserTrace")
          .input("x")
          .output("y")
          .shape([](const ShapeContext& c) {
            if (c.input(0).rank() != 2) throw Error("expected a matrix, got rank " + std::to_string(c.input(0).rank()));
            return Shape{};
          })
          .kernel([](std::span<const Array>, std::span<Array>) {})
          .not_differentiable()
          .doc("The sum of the diagonal.");
  try {
    add_tensor(square_matrix_op, {constant(1.f)}, {.name = "trace"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("[UserTrace 'trace'] expected a matrix, got rank 0"), std::string::npos)
        << e.what();
    EXPECT_NE(std::string(e.what()).find("(made at user_op_test.cc:"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace belfry
