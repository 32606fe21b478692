// Random graphs of ops that can work in place, views and others, spread over devices.
#pragma once

#include <algorithm>
#include <string>

#include "belfry/base/random.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/broadcast.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "tests/engine/ir_testing.h"

namespace belfry {

// Devices are drawn from a stream of their own: the same seed gives the same graph whatever their number.
inline Request random_graph(RandomStream& random, int devices, bool assignments = false) {
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random.bits() % n); };
  const auto variable = [](const char* name, const Shape& shape) {
    return get_variable(name, {.shape = shape, .initializer = [](const Shape& s, DType d) {
                                 return constant(Array::full(d, s, 0.5));
                               }});
  };
  const Variable a = variable("a", {4, 8}), b = variable("b", {16, 4});
  const Tensor x = placeholder({"x", f32, {5, 8}});
  Tensors made{a, b, x};
  std::vector<Operation> targets;
  const int count = 10 + static_cast<int>(pick(25));
  std::vector<Operation> marks;  // now and then, what follows waits for some of what came before
  for (int i = 0; i < count; ++i) {
    const DeviceScope device("cpu:" + std::to_string(pick(60) % static_cast<std::size_t>(devices)));
    const Tensor t = made[pick(made.size())], u = made[made.size() - 1 - pick(std::min<std::size_t>(made.size(), 3))];
    if (pick(5) == 0) {
      std::vector<Operation> before{made[pick(made.size())]};
      if (!marks.empty()) before.push_back(marks[pick(marks.size())]);
      if (!targets.empty()) before.push_back(targets.back());
      marks.push_back(group(before));
    }
    const ControlDependencies after(marks.empty() || pick(4) != 0 ? std::vector<Operation>{}
                                                                  : std::vector{marks[pick(marks.size())]});
    switch (pick(8)) {
      case 7: made.push_back((pick(2) == 0 ? a : b).read()); break;
      case 0: made.push_back(tanh(t)); break;
      case 1: made.push_back(t.shape() == u.shape() ? t * u : sin(u)); break;
      case 2: made.push_back(expand_dims(t, 0)); break;
      case 3: made.push_back(t.rank() > 1 ? reshape(t, {kAny}) : t - 1.f); break;
      case 4: made.push_back(t.rank() > 0 ? reduce_mean(t, {.axes = {0}}) : cos(t)); break;
      case 5: made.push_back(t.rank() > 0 ? concat({t, t}, 0) : sin(t)); break;
      default: made.push_back(t + 1.f); break;
    }
    if (made.back().rank() > 6) made.pop_back();
    if (assignments && targets.size() < 2 && pick(6) == 0) {  // each variable once
      const Variable& v = targets.empty() ? a : b;
      targets.push_back(v.assign_add(broadcast_like(reduce_mean(tanh(made.back())), v)));
    }
  }
  Request request{.fetches = {made.back()}, .targets = targets, .feeds = {{x, {5, 8}}}};
  for (int i = 0; i < 3; ++i) request.fetches.push_back(made[pick(made.size())]);
  return request;
}

}  // namespace belfry
