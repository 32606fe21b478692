// The gradient of a convolution with respect to images of few channels (and so the last layer of a generator): oneDNN
// computes in blocks of 16 channels, most of which would be padding here.
//
// Each pixel of dy gives a column, its part of every cell of its window, by a product with the filter; columns are then
// added up where windows overlap. Images are [image][h][w][channels], dy any layout that ActivationView describes. The
// bits do not depend on the number of threads.
#pragma once

#include <cstddef>

#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/cpu/lanes/activation_view.h"
#include "belfry/ops/internal/conv_geometry.h"

namespace belfry {

struct FewChannelsBackwardData {
  ConvGeometry g;
  ActivationView dy_view;
  const float* filter = nullptr;  // [kh][kw][c][o]
  const float* dy = nullptr;
  float* dx = nullptr;
  void* scratch = nullptr;
  Isa isa = cpu_isa();
};

void few_channels_backward_data(const FewChannelsBackwardData& args);
std::size_t few_channels_scratch_bytes(const ConvGeometry& g, int team);

}  // namespace belfry
