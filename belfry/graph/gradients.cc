#include "belfry/graph/gradients.h"

#include <algorithm>
#include <map>
#include <set>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/foreign_handle.h"
#include "belfry/graph/internal/forward_location.h"
#include "belfry/graph/recompute.h"
#include "belfry/graph/scope.h"

namespace belfry {
namespace {

using Key = std::pair<const Node*, int>;
Key key(const Tensor& t) { return {t.node(), t.output()}; }

// Nodes that can be reached forwards from any x: only these can carry a gradient.
std::set<const Node*> depends_on(const Graph& graph, const Tensors& xs) {
  std::set<const Node*> out;
  for (const Tensor& x : xs) out.insert(x.node());
  for (const auto& node : graph.nodes())
    if (std::ranges::any_of(node->inputs, [&](const Tensor& t) { return out.contains(t.node()); }))
      out.insert(node.get());
  return out;
}

class Backward {
 public:
  Backward(Graph& graph, const Tensors& xs, const GradientOptions& options)
      : graph_(graph), reached_(depends_on(graph, xs)) {
    for (const Tensor& t : options.stop) stopped_.insert(key(t));
  }

  void seed(const Tensor& y, const Tensor& given) {
    const ForwardLocation location(y.node()->where);
    add(y, given ? given : add_tensor(find_op("OnesLike"), {Operand(y)}));
  }

  // Walks the nodes that existed when it began, last one first: creation order is a topological order.
  void run(int last) {
    for (int id = last; id >= 0; --id) {
      Node* node = graph_.nodes()[static_cast<std::size_t>(id)].get();
      if (!reached_.contains(node)) continue;
      Tensors grads;
      for (int i = 0; i < static_cast<int>(node->outputs.size()); ++i) {
        const bool stopped = stopped_.contains({node, i});
        const Tensor total = sum_of(Tensor(node, i));
        grads.push_back(stopped ? Tensor() : total);
      }
      if (std::ranges::any_of(grads, [](const Tensor& t) { return static_cast<bool>(t); }))
        pass_on(node, std::move(grads));
    }
  }

  Tensor result(const Tensor& x) { return sum_of(x); }

 private:
  void add(const Tensor& t, const Tensor& grad) { arrived_[key(t)].push_back(grad); }

  // The sum of all that arrived, made once, in the order of arrival.
  Tensor sum_of(const Tensor& t) {
    const auto at = arrived_.find(key(t));
    if (at == arrived_.end()) return {};
    Tensors& parts = at->second;
    const ForwardLocation location(t.node()->where);
    while (parts.size() > 1) {
      const Tensor two = add_tensor(find_op("Add"), {parts[0], parts[1]});
      parts.erase(parts.begin());
      parts[0] = two;
    }
    return parts[0];
  }

  void pass_on(Node* node, Tensors grads) {
    if (!node->def->gradient) return;
    const ForwardLocation location(node->where);
    const DeviceScope device(node->device);
    const ReplicaScope replica(node->tower);
    const GradientOfScope segment(*node);
    const Tensors inner = node->def->gradient(GradientContext(node, std::move(grads)));
    BELFRY_CHECK(inner.size() == node->inputs.size(),
                 "{} expected a gradient function that gives {} tensors, got {} {}", describe(*node),
                 node->inputs.size(), inner.size(), made_at(*node));
    for (std::size_t i = 0; i < inner.size(); ++i) {
      const Tensor& input = node->inputs[i];
      if (!inner[i] || !is_float(input.dtype()) || !reached_.contains(input.node())) continue;
      BELFRY_CHECK(compatible(inner[i].shape(), input.shape()) && inner[i].dtype() == input.dtype(),
                   "{} expected a gradient of {} {} for input {}, got {} {} {}", describe(*node),
                   name_of(input.dtype()), to_string(input.shape()), i, name_of(inner[i].dtype()),
                   to_string(inner[i].shape()), made_at(*node));
      add(input, inner[i]);
    }
  }

  Graph& graph_;
  std::set<const Node*> reached_;
  std::set<Key> stopped_;
  std::map<Key, Tensors> arrived_;
};

void check_tensors(const Tensors& tensors, const char* what, const Location& where) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    BELFRY_CHECK(static_cast<bool>(tensors[i]),
                 "[gradients] expected tensors as {}, got an empty handle at index {} (at {}). An unconnected gradient "
                 "is empty: test it first.",
                 what, i, to_string(where));
    BELFRY_CHECK(related_to(tensors[i], current_graph()), "[gradients] expected {} of the current graph, got {}", what,
                 foreign(tensors[i], fmt::format("(at {})", to_string(where)),
                         "Enter the GraphScope that the tensor was made in."));
  }
}

void check_arguments(const Tensors& ys, const Tensors& xs, const Tensors& grad_ys, const Location& where) {
  check_tensors(ys, "ys", where);
  check_tensors(xs, "xs", where);
  BELFRY_CHECK(grad_ys.empty() || grad_ys.size() == ys.size(),
               "[gradients] expected {} grad_ys, one per y, got {} (at {}). Omit them all for ones.", ys.size(),
               grad_ys.size(), to_string(where));
  for (const Tensor& y : ys)
    BELFRY_CHECK(is_float(y.dtype()), "[gradients] expected y of a float type, got '{}' of {} (at {}). Use cast().",
                 y.name(), name_of(y.dtype()), to_string(where));
  for (std::size_t i = 0; i < grad_ys.size(); ++i)
    BELFRY_CHECK(!grad_ys[i] || (grad_ys[i].dtype() == ys[i].dtype() && compatible(grad_ys[i].shape(), ys[i].shape())),
                 "[gradients] expected grad_ys[{}] of the shape and type of y {}, got {} (at {}).", i, to_string(ys[i]),
                 to_string(grad_ys[i]), to_string(where));
}

}  // namespace

Tensors gradients(const Tensors& ys, const Tensors& xs, const GradientOptions& options, const Location& where) {
  if (ys.empty() || xs.empty()) return Tensors(xs.size());
  check_arguments(ys, xs, options.grad_ys, current_location(where));
  Graph& graph = ys[0].graph();
  const NameScope scope("gradients");
  const GradientPassScope pass(graph, current_location(where));
  Backward backward(graph, xs, options);
  int last = 0;
  for (std::size_t i = 0; i < ys.size(); ++i) {
    last = std::max(last, ys[i].node()->id);
    backward.seed(ys[i], options.grad_ys.empty() ? Tensor() : options.grad_ys[i]);
  }
  backward.run(last);
  Tensors out;
  for (const Tensor& x : xs) out.push_back(backward.result(x));
  return out;
}

Tensors gradients(const Tensor& y, const Tensors& xs, const GradientOptions& options, const Location& where) {
  return gradients(Tensors{y}, xs, options, where);
}

Tensors gradients(const Tensor& y, const std::vector<Variable>& xs, const GradientOptions& options,
                  const Location& where) {
  Tensors handles;
  for (const Variable& v : xs) handles.push_back(v.handle());
  return gradients(Tensors{y}, handles, options, where);
}

namespace {

// Inputs are the forward outputs, then the original inputs; the outputs repeat the former. The user's gradient function
// gives gradients of the latter only.
const OpRegistration custom_gradient_def =
    define_op("CustomGradient")
        .inputs("tensors")
        .output("outputs")
        .shape([](const ShapeContext& c) {
          Shapes out;
          for (int i = 0; i < c.attributes().integer("outputs"); ++i) out.push_back(c.input(i));
          return out;
        })
        .dtype([](const ShapeContext& c) {
          std::vector<DType> out;
          for (int i = 0; i < c.attributes().integer("outputs"); ++i) out.push_back(c.dtype(i));
          return out;
        })
        .gradient([](const GradientContext& c) {
          return c.node()->graph->kept_gradient(c.attributes().integer("gradient"))(c);
        })
        .forwards()
        .doc("Passes tensors through and replaces their gradient with a user's function.");

}  // namespace

Tensors custom_gradient(const Tensors& inputs, const ForwardFunction& forward, BackwardFunction backward) {
  const NameScope scope("custom_gradient");
  const Tensors outputs = forward(inputs);
  BELFRY_CHECK(!outputs.empty(), "[custom_gradient] expected outputs from the forward function, got none");
  const std::size_t count = outputs.size();
  GradientRule rule = [count, backward = std::move(backward)](const GradientContext& c) {
    Tensors ins, outs, grads, result(static_cast<std::size_t>(c.inputs()));
    for (std::size_t i = 0; i < result.size(); ++i) (i < count ? outs : ins).push_back(c.input(static_cast<int>(i)));
    for (std::size_t i = 0; i < count; ++i)
      grads.push_back(c.has_grad(static_cast<int>(i)) ? c.grad(static_cast<int>(i))
                                                      : add_tensor(find_op("ZerosLike"), {outs[i]}));
    const Tensors inner = backward(ins, outs, grads);
    BELFRY_CHECK(inner.size() == ins.size(), "[custom_gradient] expected {} gradients, one per input, got {}",
                 ins.size(), inner.size());
    std::ranges::copy(inner, result.begin() + static_cast<std::ptrdiff_t>(count));
    return result;
  };
  std::vector<Operand> all(outputs.begin(), outputs.end());
  all.insert(all.end(), inputs.begin(), inputs.end());
  const std::int64_t id = current_graph().keep_gradient(std::move(rule));
  return add_tensors(custom_gradient_def, all,
                     {.attributes = {{"gradient", id}, {"outputs", static_cast<std::int64_t>(count)}}});
}

}  // namespace belfry
