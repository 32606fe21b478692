// char_transformer: embedding of 65 characters, learned positions, 4 blocks of 4 heads and 128 features, causal; batch
// 16 x 128; Adam 1e-3
#include "benchmarks/char_transformer.h"

#include <cmath>

#include "benchmarks/hashed.h"

namespace belfry::bench {
namespace {

using namespace char_transformer;

constexpr std::int64_t kBatch = 16;

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
  for (std::size_t i = 0; i < kBlocks; ++i) {
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

Tensor char_transformer_logits(const Tensor& ids, const CachedPart& part) {
  const Variable positions = get_variable("pos", {.shape = {kTime, kFeatures}});
  Tensor x =
      embedding_lookup(get_variable("tok", {.shape = {kCharacters, kFeatures}}), ids) +
      (part.caches == nullptr ? Tensor(positions) : slice(positions, {part.position, 0}, {ids.shape()[1], kFeatures}));
  for (std::size_t i = 0; i < kBlocks; ++i)
    x = x |
        transformer_block("block" + std::to_string(i), {.heads = kHeads,
                                                        .causal = true,
                                                        .cache = part.caches == nullptr ? nullptr : &(*part.caches)[i],
                                                        .position = part.position});
  return x | layer_norm("lnf") | dense("head", {.units = kCharacters, .use_bias = false});
}

Suite make_char_transformer() {
  Suite s{.name = "char_transformer", .steps = 10, .warmup = 4, .items = kBatch * kTime};
  s.signature = {{"ids", i32, {kAny, kTime}}, {"label", i32, {kAny}}};
  s.cost = [](const Inputs& in) {
    return mean_cross_entropy(flatten_rows(char_transformer_logits(in["ids"])), in["label"]);
  };
  s.optimizer = [] { return adam({.learning_rate = 1e-3f}); };
  s.parameters = parameters();
  for (int b = 0; b < 4; ++b)
    s.batches.push_back({hashed_labels(b, kBatch * kTime, kCharacters).reshaped({kBatch, kTime}),
                         hashed_labels(500 + b, kBatch * kTime, kCharacters)});
  return s;
}

}  // namespace belfry::bench
