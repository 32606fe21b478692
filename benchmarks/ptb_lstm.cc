// ptb_lstm: embedding 10000x200, 2 LSTM layers of 200 over 20 steps of 20 rows, fc10000; the state goes from step to
// step; SGD 1, gradients clipped to a global norm of 5
#include "benchmarks/hashed.h"
#include "benchmarks/suite.h"

namespace belfry::bench {
namespace {

constexpr int kTime = 20, kBatch = 20, kUnits = 200, kLayers = 2, kWords = 10000;

// The state that the tower's last step left, zeros at first.
std::vector<LstmState> carried_state(std::vector<Variable>& variables) {
  std::vector<LstmState> out;
  for (int k = 0; k < 2 * kLayers; ++k)
    variables.push_back(new_variable("state", {.shape = {kBatch, kUnits}, .initializer = init::zeros()}));
  for (std::size_t k = 0; k < variables.size(); k += 2) out.push_back({variables[k], variables[k + 1]});
  return out;
}

// Along with each step of the tower.
void carry(const std::vector<Variable>& variables, const std::vector<LstmState>& last) {
  Collections& collections = current_graph().collections();
  for (std::size_t k = 0; k < last.size(); ++k) {
    collections.add(collection::kUpdateOps, Operation(variables[2 * k].assign(last[k].h)));
    collections.add(collection::kUpdateOps, Operation(variables[2 * k + 1].assign(last[k].c)));
  }
}

Tensor cost(const Inputs& in) {
  std::vector<Variable> state;
  const std::vector<LstmState> before = carried_state(state);
  const LstmLayerResult rnn = lstm_with_state(in["ids"] | embedding("emb", {.rows = kWords, .width = kUnits}), "lstm",
                                              {.units = kUnits, .layers = kLayers}, before);
  carry(state, rnn.last);
  const Tensor logits = reshape(rnn.output, {kAny, kUnits}) | fully_connected("head", {.units = kWords});
  return mean_cross_entropy(logits, in["next"]) * static_cast<float>(kTime);
}

std::vector<Parameter> parameters() {
  constexpr double kBound = 0.1;
  std::vector<Parameter> out{{.name = "emb/W", .bound = kBound}};
  for (int k = 0; k < kLayers; ++k) {
    const std::string layer = "lstm/layer" + std::to_string(k);
    out.push_back({.name = layer + "/W_x", .order = Order::linear, .bound = kBound});
    out.push_back({.name = layer + "/W_h", .order = Order::linear, .bound = kBound});
    out.push_back({.name = layer + "/b"});
    out.push_back({});  // PyTorch's second bias, which stays 0
  }
  out.push_back({.name = "head/W", .order = Order::linear, .bound = kBound});
  out.push_back({.name = "head/b"});
  return out;
}

}  // namespace

Suite make_ptb_lstm() {
  Suite s{.name = "ptb_lstm", .steps = 15, .warmup = 4, .items = kTime * kBatch};
  s.signature = {{"ids", i32, {kTime, kBatch}}, {"next", i32, {kTime * kBatch}}};
  s.cost = cost;
  s.optimizer = [] { return apply_grad_processors(sgd({.learning_rate = 1.f}), {global_norm_clip(5)}); };
  s.parameters = parameters();
  for (int b = 0; b < 4; ++b)
    s.batches.push_back({hashed_labels(b, kTime * kBatch, kWords).reshaped({kTime, kBatch}),
                         hashed_labels(500 + b, kTime * kBatch, kWords)});
  return s;
}

}  // namespace belfry::bench
