#include "examples/gan/dcgan.h"

namespace bf = belfry;

namespace {

const auto small_weights = bf::init::normal({.stddev = 0.02});

// Images in (-1, 1).
bf::Tensor generator(const bf::Tensor& z) {
  const bf::VariableScope scope("gen");
  const bf::Tensor seed = z | bf::fully_connected("fc", {.units = 7 * 7 * 64, .kernel_initializer = small_weights});
  const bf::Conv2dTransposeLayerOptions up{
      .filters = 32, .kernel = 4, .strides = 2, .use_bias = false, .kernel_initializer = small_weights};
  const bf::Conv2dTransposeLayerOptions image{
      .filters = 1, .kernel = 4, .strides = 2, .activation = bf::tanh, .kernel_initializer = small_weights};
  return bf::reshape(seed, {bf::kAny, 7, 7, 64}) | bf::batch_norm("bn0", {.activation = bf::relu}) |
         bf::conv2d_transpose("deconv1", up) | bf::batch_norm("bn1", {.activation = bf::relu}) |
         bf::conv2d_transpose("deconv2", image);
}

// Logits for images in [-1, 1] being real. Called twice in a tower: the second time it finds its variables.
bf::Tensor discriminator(const bf::Tensor& image, const bf::VariableScopeOptions& options = {}) {
  const bf::VariableScope scope("discrim", options);
  const bf::Conv2dLayerOptions first{
      .filters = 32, .kernel = 4, .strides = 2, .activation = bf::leaky_relu, .kernel_initializer = small_weights};
  const bf::Conv2dLayerOptions second{
      .filters = 64, .kernel = 4, .strides = 2, .use_bias = false, .kernel_initializer = small_weights};
  return image | bf::conv2d("conv0", first) | bf::conv2d("conv1", second) |
         bf::batch_norm("bn1", {.activation = bf::leaky_relu}) |
         bf::fully_connected("fc", {.units = 1, .kernel_initializer = small_weights});
}

}  // namespace

std::vector<bf::TensorSpec> DCGAN::inputs() const { return {{"image", bf::f32, {bf::kAny, 28, 28, 1}}}; }

bf::Tensors DCGAN::build_graph(const bf::Inputs& in) {
  const bf::Tensor z = bf::random_normal({bf::size_of(in["image"], 0), kLatent}, {}, "z");
  const bf::Tensor fake = generator(z);
  bf::multiply(fake + 1.f, 0.5f, "generated");
  const bf::Tensor real_logits = discriminator(in["image"] * 2.f - 1.f);
  const bf::Tensor fake_logits = discriminator(fake, {.reuse = bf::Reuse::yes});
  return build_losses(real_logits, fake_logits);
}

std::unique_ptr<bf::Optimizer> DCGAN::optimizer() {
  return bf::adam({.learning_rate = bf::hyper_param("learning_rate", 2e-4f), .beta1 = 0.5});
}
