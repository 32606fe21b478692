#include "examples/char_transformer/network.h"

#include <fmt/format.h>

namespace bf = belfry;

NetworkSizes sizes_in(const bf::Checkpoint& checkpoint) {
  const auto shape = [&](const std::string& name) {
    const auto found = checkpoint.tensors.find(name);
    if (found == checkpoint.tensors.end())
      throw bf::Error(
          fmt::format("[char_transformer] expected a checkpoint of char_transformer, got one without '{}'.", name));
    return found->second.shape();
  };
  NetworkSizes sizes{.characters = shape("head/W")[1], .window = shape("places")[0], .features = shape("places")[1]};
  for (sizes.blocks = 0; checkpoint.tensors.contains(fmt::format("block{}/fc1/W", sizes.blocks));) ++sizes.blocks;
  return sizes;
}

bf::Tensor Network::operator()(const bf::Tensor& ids) const { return logits(ids, {}, nullptr); }

bf::Tensor Network::operator()(const bf::Tensor& ids, const bf::Tensor& position,
                               std::vector<bf::KeyValueCache>& caches) const {
  return logits(ids, position, &caches);
}

bf::Tensor Network::logits(const bf::Tensor& ids, const bf::Tensor& position,
                           std::vector<bf::KeyValueCache>* caches) const {
  const bf::Variable places = bf::get_variable("places", {.shape = {sizes_.window, sizes_.features}});
  const bf::Tensor first = position ? position : bf::constant(0);
  bf::Tensor x = (ids | bf::embedding("characters", {.rows = sizes_.characters, .width = sizes_.features})) +
                 bf::slice(places, {first, 0}, {bf::size_of(ids, 1), sizes_.features});
  for (std::int64_t i = 0; i < sizes_.blocks; ++i)
    x = x | bf::transformer_block(fmt::format("block{}", i),
                                  {.heads = sizes_.features / NetworkSizes::kHeadFeatures,
                                   .causal = true,
                                   .dropout = dropout_,
                                   .cache = caches == nullptr ? nullptr : &(*caches)[static_cast<std::size_t>(i)],
                                   .position = position});
  return x | bf::layer_norm("norm") | bf::dense("head", {.units = sizes_.characters, .use_bias = false});
}
