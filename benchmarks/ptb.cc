#include "benchmarks/ptb.h"

namespace belfry::bench {
namespace {

constexpr int kLayers = 2;

// The state that the tower's last step left, zeros at first.
std::vector<Variable> carried_state(const RnnCell& cell, std::int64_t batch) {
  std::vector<Variable> out;
  for (const std::int64_t size : cell.state_sizes())
    out.push_back(new_variable("state", {.shape = {batch, size}, .initializer = init::zeros()}));
  return out;
}

// Along with each step of the tower.
void carry(const std::vector<Variable>& variables, const Tensors& last) {
  for (std::size_t k = 0; k < last.size(); ++k)
    current_graph().collections().add(collection::kUpdateOps, Operation(variables[k].assign(last[k])));
}

Tensor cost(const Inputs& in, const PtbSizes& sizes) {
  std::vector<RnnCell> layers;
  for (int k = 0; k < kLayers; ++k) layers.push_back(cell::lstm("layer" + std::to_string(k), {.units = sizes.units}));
  const RnnCell cell = cell::stacked("lstm", layers);
  const std::vector<Variable> state = carried_state(cell, sizes.batch);
  const RnnResult r = rnn(cell, in["ids"] | embedding("emb", {.rows = sizes.words, .width = sizes.units}),
                          {.initial = Tensors(state.begin(), state.end())});
  carry(state, r.last);
  const Tensor logits = reshape(r.output, {kAny, sizes.units}) | fully_connected("head", {.units = sizes.words});
  return mean_cross_entropy(logits, in["next"]) * static_cast<float>(sizes.time);
}

std::vector<Parameter> parameters(double bound) {
  std::vector<Parameter> out{{.name = "emb/W", .bound = bound}};
  for (int k = 0; k < kLayers; ++k) {
    const std::string layer = "lstm/layer" + std::to_string(k);
    out.push_back({.name = layer + "/W_x", .order = Order::linear, .bound = bound});
    out.push_back({.name = layer + "/W_h", .order = Order::linear, .bound = bound});
    out.push_back({.name = layer + "/b"});
    out.push_back({});  // PyTorch's second bias, which stays 0
  }
  out.push_back({.name = "head/W", .order = Order::linear, .bound = bound});
  out.push_back({.name = "head/b"});
  return out;
}

}  // namespace

Suite make_ptb(const std::string& name, const PtbSizes& sizes) {
  Suite s{.name = name, .items = sizes.time * sizes.batch};
  s.signature = {{"ids", i32, {sizes.time, sizes.batch}}, {"next", i32, {sizes.time * sizes.batch}}};
  s.cost = [sizes](const Inputs& in) { return cost(in, sizes); };
  s.optimizer = [] { return apply_grad_processors(sgd({.learning_rate = 1.f}), {global_norm_clip(5)}); };
  s.parameters = parameters(sizes.bound);
  return s;
}

}  // namespace belfry::bench
