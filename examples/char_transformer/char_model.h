// The model that is trained: the network, its loss, and a sample to look at.
#pragma once

#include <memory>

#include "examples/char_transformer/network.h"

class CharModel final : public belfry::ModelDesc {
 public:
  // `prompt`: characters that a sample begins with; it fills the window.
  CharModel(const Network& network, std::int64_t prompt) : network_(network), prompt_(prompt) {}

  std::vector<belfry::TensorSpec> inputs() const override;
  // Names for a predictor: "prompt" i64 [1, prompt] and "sample/tokens" i64 [1, window].
  belfry::Tensor build_graph(belfry::Inputs in) override;
  std::unique_ptr<belfry::Optimizer> optimizer() override;

 private:
  Network network_;
  std::int64_t prompt_;
};
