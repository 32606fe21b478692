// DCGAN for grey images of 28 x 28: transposed convolutions against convolutions.
#pragma once

#include "examples/gan/gan_model.h"

class DCGAN final : public GANModelDesc {
 public:
  static constexpr std::int64_t kLatent = 64;  // numbers that an image is made from
  static constexpr std::int64_t kShown = 64;   // images that an inference tower makes

  // `batch`: how many images the generator makes a step.
  explicit DCGAN(std::int64_t batch) : batch_(batch) {}

  std::vector<belfry::TensorSpec> inputs() const override;
  // Names for a predictor: "z" [kShown, kLatent] and "generated" [kShown, 28, 28, 1] in [0, 1].
  belfry::Tensors build_graph(const belfry::Inputs& in) override;
  std::unique_ptr<belfry::Optimizer> optimizer() override;

 private:
  std::int64_t batch_;
};
