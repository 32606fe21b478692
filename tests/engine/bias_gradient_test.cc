#include "belfry/engine/cpu/conv/bias_gradient.h"

#include <cmath>
#include <tuple>

#include "tests/engine/activation_layouts.h"

namespace belfry {
namespace {

using activation_testing::ActivationLayout;
using activation_testing::expect_near;
using activation_testing::for_each_machine;
using activation_testing::kPoison;
using activation_testing::Numbers;

TEST(BiasGradient, AloneAndWithReluMatchesSumsInDouble) {
  for_each_machine([](Isa isa, const std::string& machine) {
    for (const auto& [n, channels, rows] : {std::tuple{2, 1, 35},
                                            {2, 3, 35},
                                            {3, 16, 49},
                                            {2, 17, 35},
                                            {2, 40, 35},
                                            {3, 16, 2048},
                                            {9, 40, 300},
                                            {1, 3, 20011},
                                            {700, 129, 1}}) {
      Numbers numbers(static_cast<std::uint64_t>(channels));
      const std::vector<float> dy = numbers.many(n * channels * rows), y = numbers.many(n * channels * rows);
      std::vector<double> dbias(static_cast<std::size_t>(channels)), relu_dbias = dbias, dx(dy.size());
      for (std::size_t i = 0; i < dy.size(); ++i) {
        const std::size_t c = i / static_cast<std::size_t>(rows) % static_cast<std::size_t>(channels);
        dx[i] = y[i] > 0 ? static_cast<double>(dy[i]) : 0;
        dbias[c] += static_cast<double>(dy[i]);
        relu_dbias[c] += dx[i];
      }
      for (const ActivationLayout& layout : activation_testing::layouts(n, channels, rows)) {
        const std::string what = layout.name + ", " + machine + ", channels " + std::to_string(channels);
        const std::vector<float> packed_dy = pack(layout, dy), packed_y = pack(layout, y);
        std::vector<char> scratch(bias_gradient_scratch_bytes(layout.view, team_size(), isa));
        std::vector<float> sums(dbias.size(), kPoison), got = activation_testing::poisoned(layout);
        bias_gradient({layout.view, packed_dy.data(), sums.data(), scratch.data(), isa});
        expect_near(dbias, sums, 1e-4, "dbias " + what);
        relu_backward_bias(
            {layout.view, packed_dy.data(), packed_y.data(), got.data(), sums.data(), scratch.data(), isa});
        expect_near(relu_dbias, sums, 1e-4, "relu dbias " + what);
        expect_near(dx, unpack(layout, got), 0, "dx " + what);
        got = packed_dy;
        relu_backward_bias({layout.view, got.data(), packed_y.data(), got.data(), nullptr, scratch.data(), isa});
        expect_near(dx, unpack(layout, got), 0, "dx in place " + what);
      }
    }
  });
}

TEST(BiasGradient, NoElementsGiveZero) {
  for_each_machine([](Isa isa, const std::string&) {
    const ActivationView view{3, 1, 0, 16, 2};
    std::vector<char> scratch(bias_gradient_scratch_bytes(view, team_size(), isa));
    std::vector<float> sums(3, kPoison);
    bias_gradient({view, nullptr, sums.data(), scratch.data(), isa});
    EXPECT_EQ(sums, (std::vector<float>{0, 0, kPoison}));
    relu_backward_bias({view, nullptr, nullptr, nullptr, nullptr, scratch.data(), isa});
  });
}

}  // namespace
}  // namespace belfry
