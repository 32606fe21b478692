// Which primitive the fixed rule takes.
#include <gtest/gtest.h>

#include "belfry/engine/cpu/conv/dnnl_conv_choice.h"
#include "belfry/engine/cpu/conv/few_channels.h"
#include "belfry/engine/cpu/kernel/isa.h"

namespace belfry {
namespace {

// A square convolution with half its kernel as padding.
ConvGeometry square_conv(std::int64_t n, std::int64_t size, std::int64_t c, std::int64_t o, std::int64_t kernel,
                         std::int64_t stride = 1) {
  Attributes attributes{{"dilations", Ints{1, 1}}, {"groups", std::int64_t{1}}};
  const std::int64_t pad = kernel / 2;
  set_window_attributes(attributes, stride, Padding::explicit_({pad, pad, pad, pad}), DataFormat::nhwc);
  return conv_geometry({n, size, size, c}, {kernel, kernel, c, o}, attributes);
}

bool takes_winograd(const ConvGeometry& g, ConvPass pass = ConvPass::forward) {
  return dnnl_conv_descriptor({.g = g, .pass = pass}).implementation().find("wino") != std::string::npos;
}

TEST(ConvChoice, WinogradWhereItWasMeasuredToWin) {
  if (cpu_isa() != Isa::avx512) GTEST_SKIP() << "oneDNN has no Winograd without AVX-512";
  EXPECT_TRUE(takes_winograd(square_conv(128, 32, 32, 32, 3)));
  EXPECT_FALSE(takes_winograd(square_conv(128, 32, 16, 16, 3)));
  EXPECT_TRUE(takes_winograd(square_conv(128, 32, 16, 16, 3), ConvPass::backward_filter));
  EXPECT_FALSE(takes_winograd(square_conv(128, 32, 32, 32, 3, 2)));
  EXPECT_FALSE(takes_winograd(square_conv(128, 32, 32, 32, 1)));
}

TEST(ConvChoice, WinogradWithOverhangWantsManyChannelsAndTiles) {
  if (cpu_isa() != Isa::avx512) GTEST_SKIP() << "oneDNN has no Winograd without AVX-512";
  for (const ConvPass pass : {ConvPass::forward, ConvPass::backward_data, ConvPass::backward_filter}) {
    EXPECT_TRUE(takes_winograd(square_conv(8, 14, 256, 256, 3), pass));
    EXPECT_FALSE(takes_winograd(square_conv(4, 14, 256, 256, 3), pass));
    EXPECT_FALSE(takes_winograd(square_conv(8, 14, 64, 64, 3), pass));
    EXPECT_FALSE(takes_winograd(square_conv(8, 7, 512, 512, 3), pass));
    EXPECT_TRUE(takes_winograd(square_conv(32, 7, 512, 512, 3), pass));
    EXPECT_FALSE(takes_winograd(square_conv(64, 5, 256, 256, 3), pass)) << "more than a third over";
  }
}

TEST(ConvChoice, ImagesOfFewChannelsWantMoreOutputsWithoutAvx512) {
  const auto own = [](std::int64_t c, std::int64_t o, ConvPass pass = ConvPass::backward_data) {
    return has_few_channels({.g = square_conv(32, 28, c, o, 3), .pass = pass});
  };
  const bool wide = cpu_isa() == Isa::avx512;
  EXPECT_TRUE(own(1, 16));
  EXPECT_FALSE(own(1, 15));
  EXPECT_EQ(own(4, 16), wide);
  EXPECT_EQ(own(4, 47), wide);
  EXPECT_TRUE(own(4, 48));
  EXPECT_FALSE(own(5, 64));
  EXPECT_FALSE(own(1, 64, ConvPass::forward));
}

}  // namespace
}  // namespace belfry
