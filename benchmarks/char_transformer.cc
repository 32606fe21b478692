// char_transformer: embedding of 65 characters, learned positions, 4 blocks of 4 heads and 128 features, causal; batch
// 16 x 128; Adam 1e-3
#include <cmath>

#include "benchmarks/hashed.h"
#include "benchmarks/suite.h"

namespace belfry::bench {
namespace {

constexpr std::int64_t kBatch = 16, kTime = 128, kFeatures = 128;
constexpr int kCharacters = 65, kBlocks = 4;

// Weights, in the order in which parameters are numbered.
class Parameters {
 public:
  void table(const std::string& name) { all.push_back({.name = name, .bound = bound_}); }
  void norm(const std::string& name) {
    all.push_back({.name = name + "/gamma", .constant = 1});
    all.push_back({.name = name + "/beta"});
  }
  void dense(const std::string& name, bool bias = true) {
    all.push_back({.name = name + "/W", .order = Order::linear, .bound = bound_});
    if (bias) all.push_back({.name = name + "/b"});
  }
  std::vector<Parameter> all;

 private:
  double bound_ = 0.02 * std::sqrt(3.0);
};

std::vector<Parameter> parameters() {
  Parameters p;
  // PyTorch numbers a module's own parameters before those of the modules in it.
  p.table("pos");
  p.table("tok");
  for (int i = 0; i < kBlocks; ++i) {
    const std::string block = "block" + std::to_string(i);
    p.norm(block + "/ln1");
    p.dense(block + "/attention/qkv");
    p.dense(block + "/attention/proj");
    p.norm(block + "/ln2");
    p.dense(block + "/fc1");
    p.dense(block + "/fc2");
  }
  p.norm("lnf");
  p.dense("head", false);
  return p.all;
}

}  // namespace

Suite make_char_transformer() {
  Suite s{.name = "char_transformer", .steps = 10, .warmup = 4, .items = kBatch * kTime};
  s.signature = {{"ids", i32, {kAny, kTime}}, {"label", i32, {kAny}}};
  s.cost = [](const Inputs& in) {
    Tensor x = embedding_lookup(get_variable("tok", {.shape = {kCharacters, kFeatures}}), in["ids"]) +
               get_variable("pos", {.shape = {kTime, kFeatures}});
    const auto block = transformer_block({.heads = 4, .causal = true});
    for (int i = 0; i < kBlocks; ++i) x = x | block("block" + std::to_string(i));
    const Tensor logits = x | layer_norm("lnf") | dense("head", {.units = kCharacters, .use_bias = false});
    return mean_cross_entropy(flatten_rows(logits), in["label"]);
  };
  s.optimizer = [] { return adam({.learning_rate = 1e-3f}); };
  s.parameters = parameters();
  for (int b = 0; b < 4; ++b)
    s.batches.push_back({hashed_labels(b, kBatch * kTime, kCharacters).reshaped({kBatch, kTime}),
                         hashed_labels(500 + b, kBatch * kTime, kCharacters)});
  return s;
}

}  // namespace belfry::bench
