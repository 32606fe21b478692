#include <cmath>

#include "belfry/engine/cpu/conv/depthwise_team.h"
#include "tests/engine/activation_layouts.h"

namespace belfry {
namespace {

using activation_testing::ActivationLayout;
using activation_testing::expect_near;
using activation_testing::for_each_machine;
using activation_testing::kPoison;
using activation_testing::Numbers;
using activation_testing::pack;
using activation_testing::poisoned;
using activation_testing::unpack;

// Values by image, channel, row, column; filters by output, tap.
struct DepthwiseProblem {
  Depthwise conv;
  std::vector<float> x, filter, bias, dy;

  explicit DepthwiseProblem(const Depthwise& c) : conv(c) {
    Numbers numbers(static_cast<std::uint64_t>(c.channels * 100 + c.multiplier * 10 + c.taps()));
    x = numbers.many(c.images * c.channels * c.window.in_h * c.window.in_w);
    filter = numbers.many(c.outputs() * c.taps());
    bias = numbers.many(c.outputs());
    dy = numbers.many(c.images * c.outputs() * c.window.out_h * c.window.out_w);
  }
};

struct DepthwiseExpected {
  std::vector<double> y, dx, dfilter, dbias;
};

// In double, straight from the definition: each product of x, filter and dy goes where it belongs.
DepthwiseExpected reference(const DepthwiseProblem& p, bool relu) {
  const Depthwise& c = p.conv;
  const simd::DepthwiseWindow& w = c.window;
  DepthwiseExpected e;
  e.y.resize(p.dy.size()), e.dx.resize(p.x.size()), e.dfilter.resize(p.filter.size()), e.dbias.resize(p.bias.size());
  std::size_t out = 0;
  for (std::int64_t n = 0; n < c.images; ++n)
    for (std::int64_t o = 0; o < c.outputs(); ++o)
      for (std::int64_t oy = 0; oy < w.out_h; ++oy)
        for (std::int64_t ox = 0; ox < w.out_w; ++ox, ++out) {
          const double dy = static_cast<double>(p.dy[out]);
          double sum = static_cast<double>(p.bias[static_cast<std::size_t>(o)]);
          e.dbias[static_cast<std::size_t>(o)] += dy;
          for (std::int64_t tap = 0; tap < c.taps(); ++tap) {
            const std::int64_t iy = oy * w.stride_h - w.pad_top + tap / w.kernel_w * w.dilation_h;
            const std::int64_t ix = ox * w.stride_w - w.pad_left + tap % w.kernel_w * w.dilation_w;
            if (iy < 0 || iy >= w.in_h || ix < 0 || ix >= w.in_w) continue;
            const auto at = static_cast<std::size_t>(((n * c.channels + o / c.multiplier) * w.in_h + iy) * w.in_w + ix);
            const auto weight = static_cast<std::size_t>(o * c.taps() + tap);
            sum += static_cast<double>(p.x[at]) * static_cast<double>(p.filter[weight]);
            e.dx[at] += dy * static_cast<double>(p.filter[weight]);
            e.dfilter[weight] += dy * static_cast<double>(p.x[at]);
          }
          e.y[out] = relu && sum < 0 ? 0 : sum;
        }
  return e;
}

struct Layouts {
  Layouts(const Depthwise& c, Isa isa) {
    const std::int64_t width = vector_width(isa);
    const auto of = [&](std::int64_t images, std::int64_t channels, std::int64_t rows) {
      return ActivationLayout{"", {images, (channels + width - 1) / width, rows, width, channels}};
    };
    x = of(c.images, c.channels, c.window.in_h * c.window.in_w);
    y = of(c.images, c.outputs(), c.window.out_h * c.window.out_w);
    filter = of(1, c.outputs(), c.taps());
  }
  ActivationLayout x, y, filter;
};

struct Results {
  std::vector<float> y, dx, dfilter, dbias;
};

Results compute(const DepthwiseProblem& p, bool relu, Isa isa) {
  const Layouts at(p.conv, isa);
  const std::vector<float> x = pack(at.x, p.x), filter = pack(at.filter, p.filter), dy = pack(at.y, p.dy);
  Results r{poisoned(at.y), poisoned(at.x), poisoned(at.filter), std::vector<float>(p.bias.size(), kPoison)};
  std::vector<char> scratch(std::max(depthwise_backward_data_scratch(p.conv, team_size(), isa),
                                     depthwise_backward_filter_scratch(p.conv, team_size(), isa)),
                            static_cast<char>(0xff));
  depthwise_forward({.conv = p.conv,
                     .x = x.data(),
                     .filter = filter.data(),
                     .bias = p.bias.data(),
                     .relu = relu,
                     .y = r.y.data(),
                     .isa = isa});
  depthwise_backward_data({.conv = p.conv,
                           .filter = filter.data(),
                           .dy = dy.data(),
                           .dx = r.dx.data(),
                           .scratch = scratch.data(),
                           .isa = isa});
  depthwise_backward_filter({.conv = p.conv,
                             .x = x.data(),
                             .dy = dy.data(),
                             .dfilter = r.dfilter.data(),
                             .dbias = r.dbias.data(),
                             .scratch = scratch.data(),
                             .isa = isa});
  return {unpack(at.y, r.y), unpack(at.x, r.dx), unpack(at.filter, r.dfilter), r.dbias};
}

void check(const Depthwise& conv) {
  const DepthwiseProblem p(conv);
  for (const bool relu : {false, true}) {
    const DepthwiseExpected e = reference(p, relu);
    for_each_machine([&](Isa isa, const std::string& where) {
      const std::string what = std::to_string(conv.channels) + " channels x " + std::to_string(conv.multiplier) + ", " +
                               std::to_string(conv.window.kernel_w) + " wide, " + where;
      const Results r = compute(p, relu, isa);
      expect_near(e.y, r.y, 1e-5, "y of " + what);
      expect_near(e.dx, r.dx, 1e-5, "dx of " + what);
      expect_near(e.dfilter, r.dfilter, 1e-4, "dfilter of " + what);
      expect_near(e.dbias, r.dbias, 1e-4, "dbias of " + what);
    });
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// Sizes of x and of the window; y's follow.
simd::DepthwiseWindow window(simd::DepthwiseWindow w, std::int64_t pad_bottom, std::int64_t pad_right) {
  w.out_h = (w.in_h + w.pad_top + pad_bottom - (w.kernel_h - 1) * w.dilation_h - 1) / w.stride_h + 1;
  w.out_w = (w.in_w + w.pad_left + pad_right - (w.kernel_w - 1) * w.dilation_w - 1) / w.stride_w + 1;
  return w;
}

TEST(DepthwiseKernels, MatchTheDefinitionForEveryChannelCountAndMultiplier) {
  const simd::DepthwiseWindow w =
      window({.in_h = 4, .in_w = 13, .kernel_h = 3, .kernel_w = 3, .pad_top = 1, .pad_left = 1}, 1, 1);
  for (const std::int64_t channels : {1, 3, 16, 20})
    for (const std::int64_t multiplier : {1, 2, 3, 17})
      check({.images = 2, .channels = channels, .multiplier = multiplier, .window = w});
}

TEST(DepthwiseKernels, MatchTheDefinitionForEveryWindow) {
  for (const std::int64_t multiplier : {1, 2})
    for (const std::int64_t kernel : {1, 2, 3, 5, 7, 9})
      for (const std::int64_t stride : {1, 2, 3})
        for (const std::int64_t dilation : {1, 2, 3}) {
          const std::int64_t reach = (kernel - 1) * dilation;
          const simd::DepthwiseWindow w = window({.in_h = 6,
                                                  .in_w = 19,
                                                  .kernel_h = 2,
                                                  .kernel_w = kernel,
                                                  .stride_h = 2,
                                                  .stride_w = stride,
                                                  .dilation_h = dilation,
                                                  .dilation_w = dilation,
                                                  .pad_top = 0,
                                                  .pad_left = reach / 2},
                                                 1, reach - reach / 2);
          check({.images = 3, .channels = 5, .multiplier = multiplier, .window = w});
        }
}

// Pads wider than the window: some outputs see nothing but padding, and turned round the window has negative pads.
TEST(DepthwiseKernels, TakePadsOfAnySize) {
  for (const std::int64_t stride : {1, 2})
    check({.images = 1,
           .channels = 9,
           .window = window({.in_h = 4,
                             .in_w = 3,
                             .kernel_h = 2,
                             .kernel_w = 2,
                             .stride_h = stride,
                             .stride_w = stride,
                             .pad_top = 5,
                             .pad_left = 4},
                            3, 6)});
}

TEST(DepthwiseKernels, GiveTheSameBitsEveryTime) {
  const DepthwiseProblem p(
      {.images = 6,
       .channels = 20,
       .multiplier = 2,
       .window = window({.in_h = 16, .in_w = 16, .kernel_h = 3, .kernel_w = 3, .pad_top = 1}, 1, 0)});
  for_each_machine([&](Isa isa, const std::string& where) {
    const Results first = compute(p, false, isa), again = compute(p, false, isa);
    EXPECT_EQ(first.y, again.y) << where;
    EXPECT_EQ(first.dx, again.dx) << where;
    EXPECT_EQ(first.dfilter, again.dfilter) << where;
    EXPECT_EQ(first.dbias, again.dbias) << where;
  });
}

TEST(DepthwiseKernels, NaNPassesThroughRelu) {
  DepthwiseProblem p(
      {.images = 1, .channels = 2, .window = window({.in_h = 2, .in_w = 2, .kernel_h = 1, .kernel_w = 1}, 0, 0)});
  p.x[5] = std::nanf("");
  for_each_machine([&](Isa isa, const std::string& where) {
    const std::vector<float> y = compute(p, true, isa).y;
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i == 5) << where << ", element " << i;
  });
}

}  // namespace
}  // namespace belfry
