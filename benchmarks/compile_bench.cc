// --compile: how long it takes to define and to compile deep networks, and how that grows with their depth.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "benchmarks/dnnl_creation.h"
#include "benchmarks/modes.h"
#include "benchmarks/plain_step.h"

namespace belfry::bench {
namespace {

constexpr std::int64_t kChannels = 8, kSide = 8, kClasses = 10;

// Residual blocks of two convolutions with batch norm, trained with Adam.
Suite residual_network(int layers) {
  const auto cost = [layers](const Inputs& in) {
    Tensor x = in["image"];
    for (int block = 0; block < layers / 2; ++block) {
      Tensor y = x;
      for (const char* part : {"a", "b"}) {
        const VariableScope scope(fmt::format("block{}{}", block, part));
        y = relu(y | conv2d("conv", {.filters = kChannels, .kernel = 3}) | batch_norm("bn"));
      }
      x = x + y;
    }
    return mean_cross_entropy(global_avg_pool(x) | dense("head", {.units = kClasses}), in["label"]);
  };
  return {.name = "residual",
          .signature = {{"image", f32, {kAny, kSide, kSide, kChannels}}, {"label", i32, {kAny}}},
          .cost = cost,
          .optimizer = [] { return adam({.learning_rate = 1e-3f}); },
          .batches = {{Array(f32, {2, kSide, kSide, kChannels}), Array(i32, {2})}}};
}

struct Compiled {
  double define_s = 0, compile_s = 0, dnnl_s = 0;  // compile_s is without dnnl_s
};

Compiled compile(const Suite& suite, const Options& o) {
  Compiled out;
  const double begin = now();
  const PlainStep plain = make_plain_step(suite);
  out.define_s = now() - begin;
  Session session(*plain.graph, {.devices = {{o.threads}}});
  const Callable step = session.make_callable({plain.train}, plain.inputs);
  const double from = now(), made = seconds_making_primitives();
  step.make_results(suite.batches[0]);  // needs the plan, and runs nothing
  out.dnnl_s = seconds_making_primitives() - made;
  out.compile_s = now() - from - out.dnnl_s;
  return out;
}

// The best of each; but oneDNN keeps primitives, and makes only the first repeat's.
Compiled best_of(const Suite& suite, const Options& o) {
  Compiled out = compile(suite, o);
  for (int r = 1; r < o.repeats_or(3); ++r) {
    const Compiled next = compile(suite, o);
    out.define_s = std::min(out.define_s, next.define_s);
    out.compile_s = std::min(out.compile_s, next.compile_s);
  }
  return out;
}

}  // namespace

void measure_compile(const Options& o) {
  std::vector<int> layers{100};
  while (2 * layers.back() <= o.layers) layers.push_back(2 * layers.back());
  std::vector<double> define_s, compile_s, dnnl_s;
  double growth = 0;
  for (const int count : layers) {
    const Compiled c = best_of(residual_network(count), o);
    if (!o.json)
      fmt::print("{:4} layers: defined in {:.3f} s, compiled in {:.3f} s, and {:.3f} s in oneDNN to make primitives\n",
                 count, c.define_s, c.compile_s, c.dnnl_s);
    std::fflush(stdout);
    if (!compile_s.empty()) growth = std::max(growth, c.compile_s / compile_s.back());
    define_s.push_back(c.define_s);
    compile_s.push_back(c.compile_s);
    dnnl_s.push_back(c.dnnl_s);
  }
  const Compiled resnet = best_of(make_resnet50(false), o);
  if (o.json)
    return fmt::print("{}\n", nlohmann::json{{"layers", layers},
                                             {"define_s", define_s},
                                             {"compile_s", compile_s},
                                             {"dnnl_s", dnnl_s},
                                             {"growth", growth},
                                             {"resnet50_compile_s", resnet.compile_s},
                                             {"resnet50_dnnl_s", resnet.dnnl_s}}
                                  .dump());
  fmt::print("resnet50: compiled in {:.3f} s, and {:.3f} s in oneDNN; growth {:.2f} for twice the layers\n",
             resnet.compile_s, resnet.dnnl_s, growth);
}

}  // namespace belfry::bench
