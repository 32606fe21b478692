#include <limits>

#include "belfry/engine/cpu/pool/pool_team.h"
#include "tests/engine/activation_layouts.h"
#include "tests/support/rounding.h"

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

struct Image {
  std::int64_t n = 1, channels = 1, height = 1, width = 1;
  std::int64_t elements() const { return n * channels * height * width; }
};

// Calls body(image and channel, window, cell, number of the cell) for all cells of all windows; logical [N][C][H][W].
template <class Body>
void for_each_cell(const Image& image, const Pooling& p, Body body) {
  for (std::int64_t plane = 0; plane < image.n * image.channels; ++plane) {
    for (std::int64_t oy = 0; oy < p.out_height(); ++oy) {
      for (std::int64_t ox = 0; ox < p.out_width(); ++ox) {
        for (std::int64_t ky = 0; ky < p.kernel_h; ++ky) {
          for (std::int64_t kx = 0; kx < p.kernel_w; ++kx) {
            const std::int64_t iy = oy * p.stride_h - p.pad_top + ky, ix = ox * p.stride_w - p.pad_left + kx;
            if (iy < 0 || ix < 0 || iy >= p.height || ix >= p.width) continue;
            body(static_cast<std::size_t>((plane * p.out_height() + oy) * p.out_width() + ox),
                 static_cast<std::size_t>((plane * p.height + iy) * p.width + ix), ky * p.kernel_w + kx);
          }
        }
      }
    }
  }
}

struct Shape {
  std::int64_t height, width, kernel_h, kernel_w, stride_h, stride_w, top, bottom, left, right;
};

const Shape kShapes[] = {
    {8, 12, 2, 2, 2, 2, 0, 0, 0, 0},  {7, 9, 2, 2, 2, 2, 0, 0, 0, 0},       // the fast path, even and odd
    {7, 71, 2, 2, 2, 2, 0, 0, 0, 0},  {7, 9, 2, 2, 2, 2, 0, 1, 0, 1},       // several vectors; padded at the end
    {9, 14, 3, 3, 2, 2, 1, 1, 1, 1},  {8, 41, 3, 3, 2, 2, 0, 1, 0, 1},      // overlapping, same padding
    {6, 37, 3, 3, 1, 1, 1, 1, 1, 1},  {5, 40, 2, 3, 1, 2, 1, 0, 2, 0},      // and not square
    {10, 25, 2, 1, 3, 4, 0, 0, 0, 0}, {3, 3, 3, 3, 3, 3, 2, 2, 2, 2},       // gaps; nearly only padding
    {4, 5, 4, 5, 1, 1, 0, 0, 0, 0},   {16, 17, 15, 17, 1, 1, 0, 0, 0, 0}};  // one window; the largest one

struct PoolingCase {
  Image image;
  Pooling pooling;  // without the layout
  std::string name;
};

PoolingCase make_case(const Shape& s, std::int64_t n, std::int64_t channels) {
  PoolingCase c{.image = {n, channels, s.height, s.width},
                .pooling = {.height = s.height,
                            .width = s.width,
                            .kernel_h = s.kernel_h,
                            .kernel_w = s.kernel_w,
                            .stride_h = s.stride_h,
                            .stride_w = s.stride_w,
                            .pad_top = s.top,
                            .pad_bottom = s.bottom,
                            .pad_left = s.left,
                            .pad_right = s.right},
                .name = {}};
  c.name = std::to_string(s.height) + "x" + std::to_string(s.width) + " by " + std::to_string(s.kernel_h) + "x" +
           std::to_string(s.kernel_w) + ", channels " + std::to_string(channels);
  return c;
}

template <class Body>
void for_each_case(Body body) {
  for (const Shape& shape : kShapes) {
    for (const std::int64_t channels : {1, 3, 16, 17, 40}) body(make_case(shape, 2, channels));
  }
  body(make_case({32, 32, 2, 2, 2, 2, 0, 0, 0, 0}, 3, 16));  // enough for two threads
  body(make_case({33, 31, 3, 3, 2, 2, 1, 1, 1, 1}, 1, 40));
}

// Calls body(pooling, layout of x, layout of y) for each layout.
template <class Body>
void for_each_layout(const PoolingCase& c, Body body) {
  const Pooling& p = c.pooling;
  const auto in = activation_testing::layouts(c.image.n, c.image.channels, p.height * p.width);
  const auto out = activation_testing::layouts(c.image.n, c.image.channels, p.out_height() * p.out_width());
  for (std::size_t i = 0; i < in.size(); ++i) {
    Pooling pooling = p;
    pooling.outer = in[i].view.outer, pooling.groups = in[i].view.groups, pooling.inner = in[i].view.inner;
    body(pooling, in[i], out[i]);
  }
}

TEST(MaxPool, MatchesANaiveLoopForwardAndBackwardInEveryLayout) {
  for_each_case([](const PoolingCase& c) {
    Numbers numbers(7);
    std::vector<float> x = numbers.many(c.image.elements());
    for (float& v : x) v = std::round(v * 8);  // many ties: the first must win
    const std::int64_t outs = c.image.n * c.image.channels * c.pooling.out_height() * c.pooling.out_width();
    const std::vector<float> dy = numbers.many(outs);
    std::vector<double> y(dy.size(), -1e9), dx(x.size()), relu_dx(x.size());
    std::vector<std::size_t> winner(dy.size());
    std::vector<std::int64_t> number(dy.size());
    for_each_cell(c.image, c.pooling, [&](std::size_t window, std::size_t cell, std::int64_t k) {
      if (static_cast<double>(x[cell]) <= y[window]) return;
      y[window] = static_cast<double>(x[cell]), winner[window] = cell, number[window] = k;
    });
    for (std::size_t i = 0; i < dy.size(); ++i) {
      dx[winner[i]] += static_cast<double>(dy[i]);
      if (y[i] > 0) relu_dx[winner[i]] += static_cast<double>(dy[i]);
    }
    for_each_machine([&](Isa isa, const std::string& machine) {
      for_each_layout(c, [&](const Pooling& pooling, const ActivationLayout& in, const ActivationLayout& out) {
        const std::string what = c.name + ", " + in.name + ", " + machine;
        const std::vector<float> packed_x = pack(in, x), packed_dy = pack(out, dy);
        std::vector<float> got_y = poisoned(out), only_y = poisoned(out), got = poisoned(in);
        std::vector<std::uint8_t> index(got_y.size() + 1, 255);
        max_pool_forward({pooling, packed_x.data(), got_y.data(), index.data(), isa});
        max_pool_forward({pooling, packed_x.data(), only_y.data(), nullptr, isa});
        expect_near(y, unpack(out, got_y), 0, "y " + what);
        EXPECT_EQ(got_y, only_y) << what;
        EXPECT_EQ(index.back(), 255) << what;
        std::vector<float> indices = got_y;
        for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = index[i];
        for (std::int64_t channel = c.image.channels; channel < out.view.padded_channels(); ++channel) {
          for (std::int64_t i = 0; i < out.view.outer * out.view.rows; ++i) {
            indices[static_cast<std::size_t>(out.at(i / out.view.rows, channel, i % out.view.rows))] = 0;
          }
        }
        expect_near({number.begin(), number.end()}, unpack(out, indices), 0, "index " + what);

        max_pool_backward({pooling, packed_dy.data(), index.data(), nullptr, got.data(), isa});
        const auto cells = static_cast<double>(pooling.kernel_h * pooling.kernel_w);  // this many dy, up to 1, per sum
        expect_near(dx, unpack(in, got), rounding_bound(cells, cells), "dx " + what);
        got = poisoned(in);
        max_pool_backward({pooling, packed_dy.data(), index.data(), got_y.data(), got.data(), isa});
        expect_near(relu_dx, unpack(in, got), rounding_bound(cells, cells), "dx with relu " + what);
      });
    });
  });
}

TEST(MaxPool, NaNAndMinusInfinityComeThrough) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), low = -std::numeric_limits<float>::infinity();
  const PoolingCase c = make_case({2, 6, 2, 2, 2, 2, 0, 0, 0, 0}, 1, 1);
  const std::vector<float> x = {1,   9, low, low, nan, 2,  //
                                nan, 5, low, low, 1,   7};
  for_each_machine([&](Isa isa, const std::string& machine) {
    for_each_layout(c, [&](const Pooling& pooling, const ActivationLayout& in, const ActivationLayout& out) {
      const std::vector<float> packed = pack(in, x);
      std::vector<float> y = poisoned(out);
      std::vector<std::uint8_t> index(y.size());
      max_pool_forward({pooling, packed.data(), y.data(), index.data(), isa});
      const auto at = [&](std::int64_t row) { return static_cast<std::size_t>(out.at(0, 0, row)); };
      EXPECT_TRUE(std::isnan(y[at(0)]) && std::isnan(y[at(2)])) << in.name << machine;
      EXPECT_EQ(index[at(0)], 2) << in.name << machine;
      EXPECT_EQ(index[at(2)], 0) << in.name << machine;
      EXPECT_EQ(y[at(1)], low) << in.name << machine;
      EXPECT_EQ(index[at(1)], 0) << in.name << machine;
    });
  });
}

TEST(AveragePool, MatchesANaiveLoopWithAndWithoutPaddingCounted) {
  for_each_case([](const PoolingCase& c) {
    Numbers numbers(11);
    const std::vector<float> x = numbers.many(c.image.elements());
    const std::int64_t outs = c.image.n * c.image.channels * c.pooling.out_height() * c.pooling.out_width();
    const std::vector<float> dy = numbers.many(outs);
    for (const bool include_padding : {false, true}) {
      std::vector<double> y(dy.size()), dx(x.size()), cells(dy.size());
      for_each_cell(c.image, c.pooling, [&](std::size_t window, std::size_t, std::int64_t) { ++cells[window]; });
      if (include_padding) {
        for (double& count : cells) count = static_cast<double>(c.pooling.kernel_h * c.pooling.kernel_w);
      }
      for_each_cell(c.image, c.pooling, [&](std::size_t window, std::size_t cell, std::int64_t) {
        y[window] += static_cast<double>(x[cell]) / cells[window];
        dx[cell] += static_cast<double>(dy[window]) / cells[window];
      });
      for_each_machine([&](Isa isa, const std::string& machine) {
        for_each_layout(c, [&](const Pooling& pooling, const ActivationLayout& in, const ActivationLayout& out) {
          const std::string what = c.name + ", " + in.name + ", " + machine;
          const std::vector<float> packed_x = pack(in, x), packed_dy = pack(out, dy);
          std::vector<float> got_y = poisoned(out), got = poisoned(in);
          average_pool_forward({pooling, packed_x.data(), got_y.data(), include_padding, isa});
          expect_near(y, unpack(out, got_y), 1e-5, "y " + what);
          average_pool_backward({pooling, packed_dy.data(), got.data(), include_padding, isa});
          expect_near(dx, unpack(in, got), 1e-5, "dx " + what);
        });
      });
    }
  });
}

TEST(Pooling, EmptySizesDoNothing) {
  for (const Pooling& p : {Pooling{.outer = 0, .groups = 1, .inner = 16, .height = 4, .width = 4, .kernel_h = 2},
                           Pooling{.outer = 2, .groups = 1, .inner = 16, .height = 0, .width = 0, .kernel_h = 2},
                           Pooling{.outer = 2, .groups = 0, .inner = 1, .height = 4, .width = 4}}) {
    max_pool_forward({.pooling = p});
    max_pool_backward({.pooling = p});
    average_pool_forward({.pooling = p});
    average_pool_backward({.pooling = p});
  }
}

TEST(Pooling, AWindowLargerThanTheImageGivesNoOutputAndAZeroGradient) {
  const Pooling p{.outer = 1, .groups = 1, .inner = 3, .height = 2, .width = 2, .kernel_h = 3, .kernel_w = 3};
  EXPECT_EQ(p.out_elements(), 0);
  std::vector<float> dx(12, kPoison);
  max_pool_backward({.pooling = p, .dx = dx.data()});
  EXPECT_EQ(dx, std::vector<float>(12, 0.f));
}

}  // namespace
}  // namespace belfry
