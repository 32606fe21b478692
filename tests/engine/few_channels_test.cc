#include "belfry/engine/cpu/conv/few_channels_team.h"
#include "tests/engine/activation_layouts.h"
#include "tests/support/rounding.h"

namespace belfry {
namespace {

using activation_testing::ActivationLayout;
using activation_testing::for_each_machine;
using activation_testing::kPoison;
using activation_testing::Numbers;

ConvGeometry geometry(std::int64_t n, std::int64_t c, std::int64_t o, Extent in, Extent kernel, Extent strides,
                      Extent dilations, const Pads& pads) {
  ConvGeometry g{.n = n, .c = c, .h = in.height, .w = in.width, .o = o, .kh = kernel.height, .kw = kernel.width};
  g.strides = strides, g.dilations = dilations, g.pads = pads;
  g.oh = (g.h + pads.top + pads.bottom - (g.kh - 1) * dilations.height - 1) / strides.height + 1;
  g.ow = (g.w + pads.left + pads.right - (g.kw - 1) * dilations.width - 1) / strides.width + 1;
  return g;
}

const ConvGeometry kProblems[] = {
    geometry(3, 1, 64, {28, 28}, 4, 2, 1, {1, 1, 1, 1}),      // a generator's last layer
    geometry(2, 3, 17, {9, 12}, {3, 5}, 1, 1, {1, 1, 2, 2}),  // columns of several vectors
    geometry(1, 2, 20, {7, 30}, 3, {1, 3}, {2, 3}, {0, 1, 2, 0}),
    geometry(1, 1, 16, {40, 3}, {7, 5}, 1, 1, {3, 3, 2, 2}),  // wider than the image
    geometry(1, 4, 33, {64, 70}, 4, 2, 1, {1, 1, 1, 1}),      // in several chunks
    geometry(2, 1, 16, {5, 5}, 1, 2, 1, {}),                  // pixels that no window meets
};

// dy is [n][o][oh * ow], filter [kh][kw][c][o], the result [n][h][w][c]
std::vector<double> reference(const ConvGeometry& g, const std::vector<float>& dy, const std::vector<float>& filter) {
  std::vector<double> dx(static_cast<std::size_t>(g.n * g.h * g.w * g.c));
  std::size_t i = 0;
  for (std::int64_t n = 0; n < g.n; ++n)
    for (std::int64_t o = 0; o < g.o; ++o)
      for (std::int64_t oy = 0; oy < g.oh; ++oy)
        for (std::int64_t ox = 0; ox < g.ow; ++ox, ++i)
          for (std::int64_t tap = 0; tap < g.kh * g.kw; ++tap) {
            const std::int64_t y = oy * g.strides.height - g.pads.top + tap / g.kw * g.dilations.height;
            const std::int64_t x = ox * g.strides.width - g.pads.left + tap % g.kw * g.dilations.width;
            if (y < 0 || y >= g.h || x < 0 || x >= g.w) continue;
            for (std::int64_t c = 0; c < g.c; ++c)
              dx[static_cast<std::size_t>(((n * g.h + y) * g.w + x) * g.c + c)] +=
                  static_cast<double>(dy[i]) *
                  static_cast<double>(filter[static_cast<std::size_t>((tap * g.c + c) * g.o + o)]);
          }
  return dx;
}

TEST(FewChannels, BackwardDataMatchesTheDefinitionInEveryLayoutAndForAnyTeam) {
  for (const ConvGeometry& g : kProblems) {
    Numbers numbers(static_cast<std::uint64_t>(g.o));
    const std::vector<float> dy = numbers.many(g.n * g.o * g.oh * g.ow), filter = numbers.many(g.kh * g.kw * g.c * g.o);
    const std::vector<double> wanted = reference(g, dy, filter);
    // Products of numbers between -1 and 1: their squares are 1/9 on average.
    const auto terms = static_cast<double>(g.kh * g.kw * g.o);
    const double bound = likely_rounding_bound(terms, std::sqrt(terms / 9));
    std::vector<float> first;  // all teams and layouts give its bits, since both instruction sets round alike
    for_each_machine([&](Isa isa, const std::string& machine) {
      for (const ActivationLayout& layout : activation_testing::layouts(g.n, g.o, g.oh * g.ow)) {
        const std::vector<float> packed = pack(layout, dy);
        std::vector<char> scratch(few_channels_scratch_bytes(g, team_size()));
        std::vector<float> dx(wanted.size(), kPoison);
        few_channels_backward_data({.g = g,
                                    .dy_view = layout.view,
                                    .filter = filter.data(),
                                    .dy = packed.data(),
                                    .dx = dx.data(),
                                    .scratch = scratch.data(),
                                    .isa = isa});
        activation_testing::expect_near(wanted, dx, bound, layout.name + ", " + machine + ", o " + std::to_string(g.o));
        if (first.empty()) first = dx;
        EXPECT_EQ(first, dx) << layout.name << ", " << machine;
      }
    });
  }
}

}  // namespace
}  // namespace belfry
