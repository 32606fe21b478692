#include "benchmarks/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "benchmarks/hashed.h"

namespace belfry::bench {
namespace {

// The index, in the suite's order, of element i of ours.
std::int64_t their_index(const Parameter& p, const Shape& s, std::int64_t i) {
  switch (p.order) {
    case Order::vector: return i;
    case Order::linear: return i % s[1] * s[0] + i / s[1];
    case Order::after_image: {
      const std::int64_t unit = i % s[1], in = i / s[1], c = p.image[2];
      const std::int64_t channel = in % c, pixel = in / c;
      return unit * s[0] + channel * (p.image[0] * p.image[1]) + pixel;
    }
    case Order::before_image: {
      const std::int64_t unit = i % s[1], in = i / s[1], c = p.image[2];
      const std::int64_t channel = unit % c, pixel = unit / c;
      return (channel * (p.image[0] * p.image[1]) + pixel) * s[0] + in;
    }
    case Order::conv: {
      const std::int64_t o = i % s[3], in = i / s[3] % s[2], tap = i / (s[3] * s[2]);
      return (o * s[2] + in) * (s[0] * s[1]) + tap;
    }
  }
  return i;
}

}  // namespace

std::vector<std::string> suite_names() {
  return {"mlp", "mnist_cnn", "cifar_resnet20", "dcgan", "ptb_lstm", "char_transformer", "resnet50"};
}

Suite make_suite(const std::string& name, const SuiteOptions& options) {
  if (name == "mlp") return make_mlp();
  if (name == "mnist_cnn") return make_mnist_cnn(options.dropout);
  if (name == "cifar_resnet20") return make_cifar_resnet20();
  if (name == "dcgan") return make_dcgan();
  if (name == "ptb_lstm") return make_ptb_lstm();
  if (name == "char_transformer") return make_char_transformer();
  if (name == "resnet50") return make_resnet50(options.recompute);
  throw Error(fmt::format("[bench] expected a suite of {}, got '{}'", fmt::join(suite_names(), ", "), name));
}

void fill_parameters(const Suite& suite, Session& session) {
  for (std::size_t p = 0; p < suite.parameters.size(); ++p) {
    const Parameter& parameter = suite.parameters[p];
    if (parameter.name.empty()) continue;
    const auto& all = session.graph().variables();
    const auto at = std::ranges::find_if(all, [&](const Variable& v) { return v.name() == parameter.name; });
    if (at == all.end()) throw Error(fmt::format("[bench] expected a variable '{}', got none", parameter.name));
    Array value = Array::full(f32, at->shape(), parameter.constant);
    if (parameter.bound > 0)
      for (std::int64_t i = 0; i < value.elements(); ++i)
        value.values<float>()[static_cast<std::size_t>(i)] = static_cast<float>(
            parameter.bound * hashed_unit(static_cast<std::uint32_t>(p),
                                          static_cast<std::uint32_t>(their_index(parameter, value.shape(), i))));
    session.set_value(*at, value);
  }
}

double he_bound(std::int64_t fan_in) { return std::sqrt(6.0 / static_cast<double>(fan_in)); }
double head_bound(std::int64_t fan_in) { return std::sqrt(1.0 / static_cast<double>(fan_in)); }

Tensor mean_cross_entropy(const Tensor& logits, const Tensor& labels) {
  return reduce_mean(sparse_softmax_cross_entropy(logits, labels), "loss");
}

}  // namespace belfry::bench
