// What each variable of a graph is to the layer that uses it, found by the op that consumes it: the session knows no
// layers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belfry/graph/variable.h"

namespace belfry {

class Graph;

enum class WeightUse : std::uint8_t {
  other,        // no layer's, or one whose layout is everywhere the same: an embedding, a norm, a bias
  convolution,  // with one group or several
  depthwise,    // one group for each channel
  transposed_convolution,
  matrix,  // of a fully connected layer, on the right of the product
  slope,   // of prelu
  lstm_input,
  lstm_recurrent,
  lstm_bias,
  gru_input,
  gru_recurrent,
  gru_bias,
  gru_recurrent_bias,
};

struct WeightRole {
  WeightUse use = WeightUse::other;
  std::int64_t groups = 1;  // of a convolution
  int rank = 0;             // of what a slope multiplies
  // Of a matrix whose rows are images [height, width, channels] that were flattened: {channels, height, width}.
  std::vector<std::int64_t> image{};
  bool unknown_image_order = false;  // rows are such images, but nothing tells which axis has the channels
};

class WeightRoles {
 public:
  explicit WeightRoles(const Graph& graph);
  ~WeightRoles();
  WeightRole of(const Variable& variable) const;

 private:
  class Consumers;
  std::unique_ptr<const Consumers> consumers_;
};

}  // namespace belfry
