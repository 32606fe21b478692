// One network of the suite: its tower function, its optimizer, its data, and how its parameters are numbered and
// filled. plain_step.h and trainers.h make steps of it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "belfry/belfry.h"

namespace belfry::bench {

// How our variable maps to the suite's (PyTorch's) order of elements.
enum class Order {
  vector,       // unchanged
  linear,       // ours [in, out], theirs [out, in]
  conv,         // ours [kh, kw, in, out], theirs [out, in, kh, kw]; transposed convolutions too (in, out swapped)
  after_image,  // a linear layer after flattening: our inputs are in the order h, w, c, theirs c, h, w
  before_image  // the same for our outputs, before they become images
};

struct Parameter {
  std::string name{};  // empty: numbered by the suite, but not ours
  Order order = Order::vector;
  double bound = 0;  // 0: constant
  double constant = 0;
  Shape image{};  // after_image, before_image: [h, w, c]
};

struct Suite {
  std::string name{};
  int steps = 0, warmup = 0;  // of one repeat
  int items = 0;              // per step of one tower
  std::vector<TensorSpec> signature{};
  // The tower function, and the optimizer for the cost that it returns. The tensor that it names "loss" is reported.
  GetCost cost{};
  GetOptimizer optimizer{};
  // Instead of these two, for a network with another kind of step: the step of one tower, and towers that a trainer
  // trains.
  std::function<Operation(const Tensors& inputs)> step{};
  std::function<std::unique_ptr<TowerTrainer>(const std::string& trainer, int devices, InputSourcePtr input)> trainer{};
  std::vector<Parameter> parameters{};  // numbered in this order
  std::vector<DataPoint> batches{};     // step k uses batch k mod size
};

std::vector<std::string> suite_names();
struct SuiteOptions {
  bool dropout = true;     // off when numbers are compared
  bool recompute = false;  // resnet50's blocks
};
Suite make_suite(const std::string& name, const SuiteOptions& options);
// Fills the variables from the hash.
void fill_parameters(const Suite& suite, Session& session);

Suite make_mlp();
Suite make_mnist_cnn(bool dropout);
Suite make_cifar_resnet20();
Suite make_dcgan();
Suite make_resnet50(bool recomputed);
Suite make_ptb_lstm();
Suite make_char_transformer();

// The bound of a layer with this many inputs per unit: sqrt(6 / fan_in), for the last layer sqrt(1 / fan_in).
double he_bound(std::int64_t fan_in);
double head_bound(std::int64_t fan_in);
// Mean cross-entropy of logits.
Tensor mean_cross_entropy(const Tensor& logits, const Tensor& labels);

}  // namespace belfry::bench
