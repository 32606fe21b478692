// What a convolution kernel has to compute, independent of the code that does. Internal to engine/cpu.
#pragma once

#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/ops/internal/conv_geometry.h"

namespace belfry {

// Which derivative of sum(y * conv(x, filter)) it is; a transposed convolution is backward_data too.
enum class ConvPass { forward, backward_data, backward_filter };

struct ConvCall {
  ConvGeometry g{};
  ConvPass pass = ConvPass::forward;
  // forward: a third input, added to the result, and then relu. backward_filter: a second output, the bias's gradient.
  bool bias = false, relu = false;
  float alpha = 0;          // relu's slope below 0
  int dy = 2;               // which input is dy, if there is one; the others are x (or only its shape) and filter
  std::string algorithm{};  // autotune's choice; empty: by the fixed rule
};

inline ConvCall conv_call(const KernelContext& c, ConvPass pass) {
  return {.g = conv_geometry(c.input(0).shape, c.input(1).shape, *c.attributes),
          .pass = pass,
          .bias = pass == ConvPass::forward ? c.inputs.size() > 2 : c.outputs.size() > 1,
          .relu = pass == ConvPass::forward && c.attributes->flag("relu"),
          .alpha = static_cast<float>(c.attributes->get_or<double>("alpha", 0)),
          .algorithm = c.attributes->get_or<std::string>(kAlgorithm, "")};
}
// Inputs dy and filter.
inline ConvCall transpose_call(const KernelContext& c) {
  return {.g = transpose_geometry(c.input(0).shape, c.input(1).shape, *c.attributes),
          .pass = ConvPass::backward_data,
          .dy = 0,
          .algorithm = c.attributes->get_or<std::string>(kAlgorithm, "")};
}

// Every operand row-major.
inline LayoutChoice plain_layouts(const KernelContext& c) {
  return {std::vector<Layout>(c.inputs.size()), std::vector<Layout>(c.outputs.size())};
}

// Where our axes are in oneDNN's order: images n, c, h, w and filters o, i, h, w.
inline std::vector<int> image_axes(const ConvGeometry& g) {
  return g.channels_last ? std::vector{0, 2, 3, 1} : std::vector{0, 1, 2, 3};
}
inline std::vector<int> filter_axes() { return {2, 3, 1, 0}; }

}  // namespace belfry
