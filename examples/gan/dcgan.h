// DCGAN for grey images of 28 x 28: transposed convolutions against convolutions.
#pragma once

#include "examples/gan/gan_model.h"

class DCGAN final : public GANModelDesc {
 public:
  static constexpr std::int64_t kLatent = 64;  // numbers that an image is made from

  std::vector<belfry::TensorSpec> inputs() const override;
  // The generator makes as many images as there are real ones. Names for a predictor: "z" [?, kLatent] and "generated"
  // [?, 28, 28, 1] in [0, 1].
  belfry::Tensors build_graph(const belfry::Inputs& in) override;
  std::unique_ptr<belfry::Optimizer> optimizer() override;
};
