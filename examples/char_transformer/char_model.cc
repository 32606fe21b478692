#include "examples/char_transformer/char_model.h"

namespace bf = belfry;

std::vector<bf::TensorSpec> CharModel::inputs() const {
  const bf::Shape windows{bf::kAny, network_.sizes().window};
  return {{"ids", bf::i32, windows}, {"next", bf::i32, windows}};
}

bf::Tensor CharModel::build_graph(bf::Inputs in) {
  const NetworkSizes& sizes = network_.sizes();
  const bf::Tensor logits = bf::flatten_rows(network_(in["ids"]));
  const bf::Tensor loss =
      bf::reduce_mean(bf::sparse_softmax_cross_entropy(logits, bf::reshape(in["next"], {bf::kAny})), "loss");
  bf::add_moving_summary({loss});
  if (!bf::get_current_tower_context().is_training()) {
    const std::vector caches(static_cast<std::size_t>(sizes.blocks), bf::key_value_cache(1, network_.cache()));
    bf::generate_tokens(bf::placeholder(bf::i64, {1, prompt_}, "prompt"), network_,
                        {.tokens = sizes.window - prompt_, .caches = caches, .sample = {.temperature = 0.8f}},
                        "sample");
  }
  return loss;
}

std::unique_ptr<bf::Optimizer> CharModel::optimizer() {
  return bf::apply_grad_processors(bf::adam({.learning_rate = bf::hyper_param("learning_rate", 1e-3f)}),
                                   {bf::global_norm_clip(1)});
}
