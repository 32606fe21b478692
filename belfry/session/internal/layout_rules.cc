#include "belfry/session/internal/layout_rules.h"

#include <fmt/format.h>

#include "belfry/base/check.h"

namespace belfry {
namespace {

std::string pytorch(const WeightRole& role, const Shape& shape) {
  switch (role.use) {
    case WeightUse::convolution:
    case WeightUse::depthwise:  // [out, in / groups, h, w]
      return shape.rank() == 3 ? "oiw" : "oihw";
    case WeightUse::transposed_convolution:  // [in, out / groups, h, w], where in is our last axis
      return shape.rank() == 3 ? "oiw" : "oihw";
    case WeightUse::matrix:
      BELFRY_CHECK(
          !role.unknown_image_order,
          "expected to know where the channels of the images are that are flattened before it, got no layer "
          "that tells; give the row the rule \"chw CxHxW\", or \"linear\" if they are flattened pixel by pixel");
      if (!role.image.empty()) return fmt::format("linear, chw {}x{}x{}", role.image[0], role.image[1], role.image[2]);
      return shape.rank() == 2 ? "linear" : "";
    case WeightUse::slope: return shape.rank() == 0 ? "reshape 1" : "";
    case WeightUse::lstm_input:
    case WeightUse::lstm_recurrent:
    case WeightUse::gru_input:
    case WeightUse::gru_recurrent: return "linear";
    case WeightUse::lstm_bias: return "sum";  // bias_ih + bias_hh
    case WeightUse::gru_bias:
    case WeightUse::gru_recurrent_bias:
    case WeightUse::other: return "";
  }
  return "";
}

std::string keras(const WeightRole& role, const Shape& shape) {
  switch (role.use) {
    case WeightUse::depthwise: {  // [h, w, in, multiplier]
      const std::int64_t in = role.groups;
      return fmt::format("reshape {} {} {} {}", shape[0], shape[1], in, shape[3] / in);
    }
    case WeightUse::slope: {  // [1, 1, channels]: height and width share it
      std::string rule = "reshape";
      for (int axis = 1; axis + 1 < role.rank; ++axis) rule += " 1";
      return fmt::format("{} {}", rule, shape.rank() == 0 ? 1 : shape.elements());
    }
    case WeightUse::gru_input:
    case WeightUse::gru_recurrent: return "gates 1 0 2";    // z r h
    case WeightUse::gru_bias: return "gates 1 0 2, stack";  // [input and recurrent bias, gates]
    case WeightUse::gru_recurrent_bias: return "gates 1 0 2";
    default: return "";
  }
}

std::string tensorflow1(const WeightRole& role, const Shape& shape) {
  switch (role.use) {
    case WeightUse::depthwise: return keras(role, shape);
    case WeightUse::lstm_input:
    case WeightUse::lstm_recurrent: return "gates 0 2 1 3";  // i c f o
    case WeightUse::lstm_bias: return "gates 0 2 1 3, forget_bias 1";
    default: return "";
  }
}

}  // namespace

WeightRule layout_rule(WeightLayout layout, const WeightRole& role, const Shape& shape) {
  const std::string text = layout == WeightLayout::pytorch       ? pytorch(role, shape)
                           : layout == WeightLayout::keras       ? keras(role, shape)
                           : layout == WeightLayout::tensorflow1 ? tensorflow1(role, shape)
                                                                 : "";
  return WeightRule::parse(text, "[layout]");
}

}  // namespace belfry
