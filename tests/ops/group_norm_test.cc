#include "belfry/ops/group_norm.h"

#include <cmath>

#include "belfry/ops/array_ops.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"
#include "tests/support/rounding.h"

namespace belfry {
namespace {

using X = const Tensors&;

const bool group_norm_rows[] = {
    gradient_row("GroupNorm", {"GroupNorm", "GroupNormGrad", "GroupMean"},
                 [](X x) { return group_norm(x[0], x[1], x[2], {.groups = 2, .epsilon = 0.1}); },
                 {{{2, 3, 4}, {4}, {4}}, {{2, 2, 1, 2}, {2}, {2}}, {{1, 4}, {4}, {4}}, {{0, 3, 4}, {4}, {4}}}),
    gradient_row("GroupNormChannelsFirst", {"GroupNorm", "GroupNormGrad", "GroupMean"},
                 [](X x) {
                   return group_norm(x[0], x[1], x[2], {.groups = 2, .epsilon = 0.1, .data_format = DataFormat::nchw});
                 },
                 {{{2, 4, 1, 3}, {4}, {4}}}),
    gradient_row("InstanceNorm", {"GroupNorm", "GroupNormGrad", "GroupMean"},
                 [](X x) { return instance_norm(x[0], x[1], x[2], {.epsilon = 0.1}); }, {{{2, 3, 2}, {2}, {2}}}),
};

class GroupNormTest : public OpTest {
 protected:
  static Array wave(const Shape& shape, double speed) {
    Array x(f64, shape);
    for (std::int64_t i = 0; i < x.elements(); ++i) x.set_item(i, std::sin(speed * static_cast<double>(i)) + 3);
    return x;
  }
};

// /usr/bin/python3 -c "import torch; x = torch.sin(torch.arange(24.).double()).reshape(2, 4, 3) + 3;
// g = torch.tensor([1., 2, 3, 4]).double(); print(torch.nn.functional.group_norm(x, 2, g, -g, 1e-3).flatten().tolist(),
// torch.nn.functional.instance_norm(x, weight=g, bias=-g, eps=1e-3).flatten().tolist())"
TEST_F(GroupNormTest, ValuesAreThoseOfPyTorch) {
  const double by_group[] = {-1.0411939746313368, 0.1394330615871523,  0.2345970454468979,  -1.6863907018831061,
                             -4.20605353766591,   -4.773228025256418,  -4.36280611076533,   -0.3572142628234004,
                             1.064552270715933,   -1.8728961390281225, -7.3262585131107105, -9.9268878773641,
                             -1.8422600062769607, -0.4587234611386511, 0.36618724107738887, -0.25189398995130985,
                             -2.9653204445278503, -4.913193112844394,  -6.495495975745245,  -2.5587467182741825,
                             0.7758365507231164,  0.5899378025988989,  -4.336513785491518,  -9.21554915937895};
  const double by_channel[] = {-2.406933940886075,    -0.37829197842501155, -0.21477408068891357, 0.7799082130629762,
                               -2.9681152663815333,   -3.8117929466814435,  -7.097966383345136,   -1.877506080141216,
                               -0.024527536513638572, 1.3585955199754707,   -5.13172736858231,    -8.226868151393166,
                               -2.312420023483858,    -0.7958922466690845,  0.10831227015294465,  0.5691119347957612,
                               -2.266693770276326,    -4.302418164519431,   -6.767281474705647,   -2.7975988383377333,
                               0.5648803130433814,    0.9016674721562452,   -4.015776505856417,   -8.885890966299822};
  const Array x = wave({2, 4, 3}, 1), gamma = Array::of<double>({4}, {1, 2, 3, 4});
  for (const DType dtype : {f32, f64})
    for (const DataFormat format : {DataFormat::nchw, DataFormat::nhwc}) {
      const bool first = format == DataFormat::nchw;
      const Tensor t = input(x.cast(dtype)), g = input(gamma.cast(dtype));
      const auto check = [&](const Tensor& y, const double* wanted) {
        const Array got = run(first ? y : transpose(y, {0, 2, 1}));
        for (std::int64_t i = 0; i < 24; ++i) EXPECT_NEAR(got.item(i), wanted[i], dtype == f64 ? 1e-12 : 2e-5) << i;
      };
      const Tensor images = first ? t : transpose(t, {0, 2, 1});
      check(group_norm(images, g, -g, {.groups = 2, .epsilon = 1e-3, .data_format = format}), by_group);
      check(instance_norm(images, g, -g, {.epsilon = 1e-3, .data_format = format}), by_channel);
    }
}

// f32 takes other kernels than f64, in chunks and shares: both must agree on large inputs far from 0.
TEST_F(GroupNormTest, LargeInputsAgreeInBothTypesAndFormats) {
  for (const DataFormat format : {DataFormat::nhwc, DataFormat::nchw}) {
    const Shape shape = format == DataFormat::nhwc ? Shape{3, 19, 23, 24} : Shape{3, 24, 19, 23};
    Array results[2][4];
    for (const DType dtype : {f32, f64}) {
      const Tensor x = input((wave(shape, 1.7)).cast(dtype)), gamma = input(wave({24}, 0.3).cast(dtype)),
                   beta = input(wave({24}, 0.9).cast(dtype)), dy = input(wave(shape, 2.3).cast(dtype));
      const Tensor y = group_norm(x, gamma, beta, {.groups = 6, .data_format = format});
      const Tensors g = gradients({y}, {x, gamma, beta}, {.grad_ys = {dy}});
      const Tensor all[] = {y, g[0], g[1], g[2]};
      for (int i = 0; i < 4; ++i) results[dtype == f64][i] = run(all[i]);
    }
    for (int k = 0; k < 4; ++k) {
      // gamma's and beta's are sums of a thousand terms dy (x - mean) / deviation, all with the same rounded mean and
      // deviation: 3 (3 + 3) / 0.7 each, if nothing cancelled.
      const double of_sums = rounding_bound(4, 3 * 19 * 23 * 3 * (3 + 3) / 0.7);
      for (std::int64_t i = 0; i < results[0][k].elements(); ++i)
        ASSERT_NEAR(results[0][k].item(i), results[1][k].item(i),
                    k < 2 ? 2e-4 * std::max(1.0, std::abs(results[1][k].item(i))) : of_sums)
            << k << " " << i;
    }
  }
}

TEST_F(GroupNormTest, MistakesAreNamed) {
  const Tensor x = placeholder(f32, {kAny, 4, 4, 6}, "x"), v = placeholder(f32, {6});
  const auto expect_error = [](const auto& f, const char* wanted) {
    const std::string text = error_of(f);
    EXPECT_NE(text.find(wanted), std::string::npos) << text;
    EXPECT_NE(text.find("(made at group_norm_test.cc:"), std::string::npos) << text;
  };
  EXPECT_EQ(group_norm(x, v, v, {.groups = 3}).shape(), x.shape());
  expect_error([&] { group_norm(x, v, v, {.groups = 4}, "gn"); },
               "[GroupNorm 'gn'] expected groups that divide the 6 channels of [?, 4, 4, 6], got 4");
  expect_error([&] { group_norm(x, v, v, {.groups = 0}); }, "[group_norm] expected .groups of 1 or more, got 0");
  expect_error([&] { instance_norm(x, placeholder(f32, {4}), v); }, "expected gamma of shape [6], got [4]");
  expect_error([&] { instance_norm(v, v, v); }, "[instance_norm] expected a batch of rank 2 or more, got");
  expect_error([&] { instance_norm(x, v, placeholder(f64, {6})); },
               "expected inputs of one floating type, got f32 and f64. Use cast()");
  expect_error([&] { instance_norm(x, v, v, {.epsilon = -1}); }, "expected epsilon of 0 or more, got -1");
}

}  // namespace
}  // namespace belfry
