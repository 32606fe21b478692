#include "examples/vae/vae.h"

namespace bf = belfry;

namespace {

// The encoding of an image: a normal distribution for each of its numbers.
struct Code {
  bf::Tensor mean, log_variance;
};

Code encode(const bf::Tensor& image) {
  const bf::VariableScope scope("encoder");
  const bf::Tensor features = (image * 2.f - 1.f) |
                              bf::conv2d("conv0", {.filters = 32, .kernel = 4, .strides = 2, .activation = bf::relu}) |
                              bf::conv2d("conv1", {.filters = 64, .kernel = 4, .strides = 2, .activation = bf::relu}) |
                              bf::fully_connected("fc", {.units = 256, .activation = bf::relu});
  return {features | bf::fully_connected("mean", {.units = VAE::kLatent}),
          features | bf::fully_connected("log_variance", {.units = VAE::kLatent})};
}

// Logits of the pixels.
bf::Tensor decode(const bf::Tensor& z) {
  const bf::VariableScope scope("decoder");
  const bf::Tensor seed = z | bf::fully_connected("fc0", {.units = 256, .activation = bf::relu}) |
                          bf::fully_connected("fc1", {.units = 7 * 7 * 64, .activation = bf::relu});
  return bf::reshape(seed, {bf::kAny, 7, 7, 64}) |
         bf::conv2d_transpose("deconv0", {.filters = 32, .kernel = 4, .strides = 2, .activation = bf::relu}) |
         bf::conv2d_transpose("deconv1", {.filters = 1, .kernel = 4, .strides = 2});
}

}  // namespace

std::vector<bf::TensorSpec> VAE::inputs() const { return {{"image", bf::f32, {bf::kAny, 28, 28, 1}}}; }

bf::Tensor VAE::build_graph(bf::Inputs in) {
  const bf::Tensor image = in["image"];
  const auto [mean, log_variance] = encode(image);
  bf::identity(mean, "mean");
  // Drawn from noise that does not depend on the weights, so that the gradient passes through.
  const bf::Tensor noise = bf::random_normal(bf::shape_of(mean));
  const bf::Tensor z = bf::add(mean, bf::exp(log_variance * 0.5f) * noise, "z");
  const bf::Tensor logits = decode(z);
  bf::sigmoid(logits, "decoded");

  // Nats per image. KL of N(mean, variance) to N(0, 1): (mean^2 + variance - 1 - log variance) / 2
  const bf::Tensor reconstruction =
      bf::reduce_sum(bf::sigmoid_cross_entropy(logits, image), {.axes = {1, 2, 3}}, "reconstruction");
  const bf::Tensor kl = bf::multiply(
      bf::reduce_sum(bf::square(mean) + bf::exp(log_variance) - 1.f - log_variance, {.axes = {1}}), 0.5f, "kl");
  const bf::Tensor elbo = bf::negative(reconstruction + kl, "elbo");

  bf::add_moving_summary({bf::reduce_mean(reconstruction, "train_reconstruction"), bf::reduce_mean(kl, "train_kl"),
                          bf::reduce_mean(elbo, "train_elbo")});
  return bf::negative(bf::reduce_mean(elbo), "cost");
}

std::unique_ptr<bf::Optimizer> VAE::optimizer() {
  return bf::adam({.learning_rate = bf::hyper_param("learning_rate", 1e-3f)});
}
