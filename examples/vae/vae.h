// A variational autoencoder for grey images of 28 x 28: convolutions to a few numbers, and back.
#pragma once

#include <belfry/belfry.h>

#include <memory>
#include <vector>

class VAE final : public belfry::ModelDesc {
 public:
  static constexpr std::int64_t kLatent = 16;  // numbers that an image is encoded to

  std::vector<belfry::TensorSpec> inputs() const override;
  // The cost is -ELBO, averaged over the batch, which may have any size.
  //
  // Names for a predictor: "image" [?, 28, 28, 1] in [0, 1], "mean" [?, kLatent] that it is encoded to, "z" [?,
  // kLatent] that it is decoded from, and "decoded", the image again. For inference, a number for each image:
  // "reconstruction" and "kl", and "elbo", minus their sum.
  belfry::Tensor build_graph(belfry::Inputs in) override;
  std::unique_ptr<belfry::Optimizer> optimizer() override;
};
