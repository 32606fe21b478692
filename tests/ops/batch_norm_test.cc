#include "belfry/ops/batch_norm.h"

#include "belfry/graph/gradients.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

BatchNormResult normalised(X x, int axis) { return batch_norm(x[0], x[1], x[2], {.epsilon = 0.1, .axis = axis}); }

// Which of the op's outputs arrive at the checked value.
enum Use { kY = 1, kMean = 2, kVariance = 4 };
Maker uses(int use, int axis) {
  return [use, axis](X x) {
    const BatchNormResult r = normalised(x, axis);
    Tensor sum;
    const auto add = [&](const Tensor& t) { sum = sum ? sum + t : t; };
    if (use & kY) add(reduce_sum(r.y * r.y * x[0]));
    if (use & kMean) add(reduce_sum(exp(r.mean)));
    if (use & kVariance) add(reduce_sum(square(r.variance)));
    return sum;
  };
}

// The squared norm of the gradient to x, as WGAN-GP penalises it: checking its gradient goes through BatchNormGrad's.
Tensor gradient_penalty(X x) {
  const Tensor y = normalised(x, -1).y;
  return reduce_sum(square(gradients({reduce_sum(square(y) * x[0])}, {x[0]})[0]));
}

const CheckOptions kLoose{.tolerance = 1e-5, .tolerance_f32 = 1e-3};
const CheckOptions kBatchNormFirstOrder{.tolerance = 1e-5, .tolerance_f32 = 5e-3, .second_order = false};
const CheckOptions kVariances{.low = 0.5, .high = 2, .tolerance = 1e-5, .tolerance_f32 = 1e-3};
const std::vector<std::string> kBatchNormOps{"BatchNorm", "BatchNormGrad"};
const std::vector<ShapeList> kLast{{{2, 2, 3, 2}, {2}, {2}}, {{4, 3}, {3}, {3}}, {{0, 2}, {2}, {2}}, {{3}, {3}, {3}}};
const std::vector<ShapeList> kFirst{{{3, 2, 2, 2}, {2}, {2}}};

Tensor inference(X x, int axis) {
  return batch_norm_inference(x[0], {x[1], x[2], x[3], x[4]}, {.epsilon = 0.1, .axis = axis});
}

const bool batch_norm_rows[] = {
    gradient_row(
        "BatchNorm", kBatchNormOps, [](X x) { return normalised(x, -1).y; }, kLast, kLoose),
    gradient_row(
        "BatchNormChannelsFirst", kBatchNormOps, [](X x) { return normalised(x, 1).y; }, kFirst, kLoose),
    gradient_row(
        "BatchNormMean", {"BatchNorm"}, [](X x) { return normalised(x, -1).mean; }, kLast, kLoose),
    gradient_row(
        "BatchNormVariance", {"BatchNorm"}, [](X x) { return normalised(x, 1).variance; }, kFirst, kLoose),
    gradient_row("BatchNormAllOutputs", kBatchNormOps, uses(kY | kMean | kVariance, 1), kFirst, kLoose),
    gradient_row("BatchNormStatistics", {"BatchNorm"}, uses(kMean | kVariance, -1), kLast, kLoose),
    gradient_row("BatchNormGradientPenalty", kBatchNormOps, gradient_penalty,
                 {{{2, 2, 3, 2}, {2}, {2}}, {{4, 3}, {3}, {3}}}, kBatchNormFirstOrder),
    gradient_row(
        "BatchNormInference", {"BatchNormInference"}, [](X x) { return inference(x, -1); },
        {{{2, 3, 2}, {2}, {2}, {2}, {2}}, {{0, 2}, {2}, {2}, {2}, {2}}}, kVariances),
    gradient_row(
        "BatchNormInferenceChannelsFirst", {"BatchNormInference"}, [](X x) { return inference(x, 1); },
        {{{2, 2, 3}, {2}, {2}, {2}, {2}}}, kVariances),
};

class BatchNormTest : public OpTest {};

TEST_F(BatchNormTest, NormalisesByTheBiasedStatisticsOfTheBatch) {
  // Channel 0 holds 1, 3, 5, 7 (mean 4, variance 5), channel 1 is constant.
  const Tensor x = constant(Array::of<double>({4, 2}, {1, 2, 3, 2, 5, 2, 7, 2}));
  const Tensor gamma = constant(Array::of<double>({2}, {2, 3})), beta = constant(Array::of<double>({2}, {10, 20}));
  const BatchNormResult r = batch_norm(x, gamma, beta, {.epsilon = 4});
  EXPECT_EQ(values<double>(r.mean), (std::vector<double>{4, 2}));
  EXPECT_EQ(values<double>(r.variance), (std::vector<double>{5, 0}));
  const std::vector<double> y = values<double>(r.y), wanted{8, 20, 10 - 2 / 3., 20, 10 + 2 / 3., 20, 12, 20};
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], wanted[i], 1e-14);
}

TEST_F(BatchNormTest, TheChannelAxisMayBeAnyOne) {
  const Array image = counting({2, 3, 4}, f64);
  Array transposed(f64, {2, 4, 3});
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::int64_t c = 0; c < 3; ++c)
      for (std::int64_t i = 0; i < 4; ++i) transposed.set_item((n * 4 + i) * 3 + c, image.item((n * 3 + c) * 4 + i));
  const Tensor gamma = constant(counting({3}, f64)), beta = constant(counting({3}, f64));
  const Array first = run(batch_norm(constant(image), gamma, beta, {.axis = 1}).y),
              last = run(batch_norm(constant(transposed), gamma, beta).y);
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::int64_t c = 0; c < 3; ++c)
      for (std::int64_t i = 0; i < 4; ++i)
        EXPECT_NEAR(first.item((n * 3 + c) * 4 + i), last.item((n * 4 + i) * 3 + c), 1e-14);
}

TEST_F(BatchNormTest, InferenceUsesTheGivenStatistics) {
  const Tensor x = constant(Array::of<float>({1, 2}, {5, 7})), one = constant(Array::of<float>({2}, {1, 1}));
  const Tensor y = batch_norm_inference(x,
                                        {.gamma = constant(Array::of<float>({2}, {2, 4})),
                                         .beta = one,
                                         .mean = one,
                                         .variance = constant(Array::of<float>({2}, {3, 8}))},
                                        {.epsilon = 1});
  EXPECT_EQ(floats(y), (std::vector<float>{5, 9}));
}

TEST_F(BatchNormTest, AnEmptyBatchHasZeroStatistics) {
  const Tensor x = placeholder(f32, {kAny, 2}), one = constant(Array::of<float>({2}, {1, 1}));
  const BatchNormResult r = batch_norm(x, one, one);
  const Feeds empty{{x, Array(f32, {0, 2})}};
  EXPECT_EQ(floats(r.mean, empty), (std::vector<float>{0, 0}));
  EXPECT_EQ(floats(r.variance, empty), (std::vector<float>{0, 0}));
}

TEST_F(BatchNormTest, ShapesAndUnknownChannels) {
  const Tensor x = placeholder(f32, {kAny, 8, 8, kAny}), gamma = placeholder(f32, {16}),
               beta = placeholder(f32, {kAny});
  const BatchNormResult r = batch_norm(x, gamma, beta);
  EXPECT_EQ(r.y.shape(), Shape({kAny, 8, 8, kAny}));
  EXPECT_EQ(r.mean.shape(), Shape({16}));
  EXPECT_EQ(r.variance.shape(), Shape({16}));
}

TEST_F(BatchNormTest, MistakesAreNamed) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const Tensor x = placeholder(f32, {kAny, 8, 8, 3}), three = placeholder(f32, {3}), four = placeholder(f32, {4});
  has(error_of([&] { batch_norm(x, three, four, {}, "bn"); }),
      "[BatchNorm 'bn'] expected vectors of one number for each channel (axis 3 of [?, 8, 8, 3]), got [4] for input 2");
  has(error_of([&] { batch_norm(x, three, three, {.axis = 1}); }), "(axis 1 of [?, 8, 8, 3]), got [3] for input 1");
  has(error_of([&] { batch_norm(x, three, three, {.axis = 4}); }), "[batch_norm]");
  has(error_of([&] { batch_norm(x, three, three, {.epsilon = -1}); }), "expected epsilon of 0 or more, got -1");
  has(error_of([&] { batch_norm(x, three, placeholder(f64, {3})); }),
      "expected inputs of one floating type, got f32 and f64");
}

}  // namespace
}  // namespace belfry
