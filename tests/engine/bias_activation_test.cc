#include "belfry/engine/cpu/conv/bias_activation.h"

#include <tuple>

#include "tests/engine/activation_layouts.h"

namespace belfry {
namespace {

using activation_testing::ActivationLayout;
using activation_testing::for_each_machine;
using activation_testing::Numbers;

TEST(BiasActivation, AddsByChannelAndAppliesReluInEveryLayout) {
  for_each_machine([](Isa isa, const std::string& machine) {
    for (const auto& [n, channels, rows] : {std::tuple{2, 3, 35}, {3, 16, 49}, {2, 40, 300}, {9, 129, 600}}) {
      Numbers numbers(static_cast<std::uint64_t>(channels));
      const std::vector<float> x = numbers.many(n * channels * rows), bias = numbers.many(channels);
      for (const auto& [relu, alpha] : {std::pair{false, 0.f}, {true, 0.f}, {true, 0.25f}}) {
        std::vector<double> wanted;
        for (std::size_t i = 0; i < x.size(); ++i) {
          const std::size_t c = i / static_cast<std::size_t>(rows) % static_cast<std::size_t>(channels);
          const double sum = static_cast<double>(x[i]) + static_cast<double>(bias[c]);
          wanted.push_back(relu && sum < 0 ? sum * static_cast<double>(alpha) : sum);
        }
        for (const ActivationLayout& layout : activation_testing::layouts(n, channels, rows)) {
          std::vector<float> got = pack(layout, x);
          std::vector<char> scratch(bias_activation_scratch_bytes(layout.view, team_size(), isa));
          bias_activation({.view = layout.view,
                           .x = got.data(),
                           .bias = bias.data(),
                           .relu = relu,
                           .alpha = alpha,
                           .scratch = scratch.data(),
                           .isa = isa});
          activation_testing::expect_near(wanted, unpack(layout, got), 1e-6,
                                          layout.name + ", " + machine + ", channels " + std::to_string(channels));
        }
      }
    }
  });
}

}  // namespace
}  // namespace belfry
