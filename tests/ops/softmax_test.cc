#include "belfry/ops/softmax.h"

#include <cmath>

#include "belfry/graph/gradients.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

// Labels 0, 3, 6, ... modulo the classes.
Array some_labels(const Shape& shape, std::int64_t classes, DType dtype) {
  Array out(dtype, shape);
  for (std::int64_t i = 0; i < out.elements(); ++i) out.set_item(i, static_cast<double>(i * 3 % classes));
  return out;
}

bool cross_entropy_row(const char* name, const Shape& logits, DType dtype) {
  const Array labels = some_labels(logits.without(logits.rank() - 1), logits[-1], dtype);
  return gradient_row(name, {"SparseSoftmaxCrossEntropy", "SparseSoftmaxCrossEntropyGrad"},
                      [labels](X x) { return sparse_softmax_cross_entropy(x[0], constant(labels)); }, {{logits}});
}

const std::vector<ShapeList> kSoftmaxShapes{{{2, 3}}, {{4}}, {{2, 1, 3}}, {{0, 3}}, {{2, 1}}};
const bool softmax_rows[] = {
    gradient_row(
        "Softmax", {"Softmax"}, [](X x) { return softmax(x[0]); }, kSoftmaxShapes),
    gradient_row(
        "LogSoftmax", {"LogSoftmax"}, [](X x) { return log_softmax(x[0]); }, kSoftmaxShapes),
    cross_entropy_row("CrossEntropy", {4, 5}, i32),
    cross_entropy_row("CrossEntropyWideLabels", {2, 2, 3}, i64),
    cross_entropy_row("CrossEntropyOneRow", {3}, i32),
    cross_entropy_row("CrossEntropyOfNothing", {0, 3}, i32),
};

class SoftmaxTest : public OpTest {};

TEST_F(SoftmaxTest, GivesTheClosedForm) {
  const float third = std::log(2.f);
  const Tensor x = constant(Array::of<float>({2, 3}, {0, 0, third, 5, 5, 5}));
  const std::vector<float> wanted{.25f, .25f, .5f, 1 / 3.f, 1 / 3.f, 1 / 3.f}, got = floats(softmax(x)),
                                                                               logs = floats(log_softmax(x));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(got[i], wanted[i], 1e-6);
    EXPECT_NEAR(logs[i], std::log(wanted[i]), 1e-6);
  }
  const std::vector<float> loss =
      floats(sparse_softmax_cross_entropy(x, constant(Array::of<std::int32_t>({2}, {2, 0}))));
  EXPECT_NEAR(loss[0], std::log(2.f), 1e-6);
  EXPECT_NEAR(loss[1], std::log(3.f), 1e-6);
}

TEST_F(SoftmaxTest, LargeLogitsDoNotOverflow) {
  const Tensor x = constant(Array::of<float>({1, 2}, {1000, -1000}));
  EXPECT_EQ(floats(softmax(x)), (std::vector<float>{1, 0}));
  EXPECT_EQ(floats(log_softmax(x)), (std::vector<float>{0, -2000}));
  EXPECT_EQ(floats(sparse_softmax_cross_entropy(x, constant(Array::of<std::int64_t>({1}, {1})))),
            (std::vector<float>{2000}));
}

TEST_F(SoftmaxTest, ShapesKeepWhatIsKnown) {
  const Tensor logits = placeholder(f32, {kAny, 10}), labels = placeholder(i32, {32});
  EXPECT_EQ(softmax(logits).shape(), Shape({kAny, 10}));
  const Tensor loss = sparse_softmax_cross_entropy(logits, labels);
  EXPECT_EQ(loss.shape(), Shape({32}));
  EXPECT_EQ(loss.dtype(), f32);
  EXPECT_EQ(sparse_softmax_cross_entropy(placeholder(f32, {kAny, 7, 10}), placeholder(i64, {4, kAny})).shape(),
            Shape({4, 7}));
}

TEST_F(SoftmaxTest, MistakesAreNamed) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const Tensor logits = placeholder(f32, {32, 10});
  has(error_of([&] { sparse_softmax_cross_entropy(logits, placeholder(i32, {31})); }),
      "expected labels of shape [32], got [31]");
  has(error_of([&] { sparse_softmax_cross_entropy(logits, placeholder(i32, {32, 1})); }),
      "expected labels of shape [32], got [32, 1]");
  has(error_of([&] { sparse_softmax_cross_entropy(logits, placeholder(f32, {32})); }),
      "expected labels of type i32 or i64, got f32. Use cast()");
  has(error_of([&] { softmax(placeholder(i32, {3})); }), "expected logits of a floating type, got i32. Use cast()");
  has(error_of([&] { softmax(placeholder(f32, {})); }), "expected logits of rank 1 or more, got []");
}

TEST_F(SoftmaxTest, ALabelOutOfRangeNamesOpRowValueAndLine) {
  const Tensor logits = placeholder(f32, {kAny, 3}), labels = placeholder(i32, {kAny});
  const Tensor loss = sparse_softmax_cross_entropy(logits, labels, "loss");
  const std::string line = std::to_string(__LINE__ - 1);
  const Tensor gradient = gradients({loss}, {logits})[0];
  const Feeds bad{{logits, counting({2, 3})}, {labels, Array::of<std::int32_t>({2}, {0, 3})}};
  Session session(graph);
  for (const Tensor& fetch : {loss, gradient}) {
    try {
      session.run(fetch, bad);
      ADD_FAILURE() << "a label of 3 among 3 classes was accepted";
    } catch (const NumericError& e) {
      const std::string text = e.what();
      EXPECT_NE(text.find("expected labels in [0, 3), got 3 in row 1 of 2"), std::string::npos) << text;
      EXPECT_NE(text.find("SparseSoftmaxCrossEntropy"), std::string::npos) << text;
      EXPECT_NE(text.find("softmax_test.cc:" + line), std::string::npos) << text;
    }
  }
  const Feeds good{{logits, counting({2, 3})}, {labels, Array::of<std::int32_t>({2}, {0, 2})}};
  EXPECT_EQ(session.run(loss, good).shape(), Shape({2}));  // the session is still usable
}

}  // namespace
}  // namespace belfry
