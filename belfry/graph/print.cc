// Tensors, operations and variables as one line of text.
#include "belfry/base/check.h"
#include "belfry/graph/graph.h"

namespace belfry {
namespace {

std::string text(const TensorSpec& spec) { return fmt::format("{} {}", name_of(spec.dtype), to_string(spec.shape)); }

template <class List, class Text>
std::string joined(const List& list, Text&& text_of) {
  std::string out;
  for (const auto& item : list) out += (out.empty() ? "" : ", ") + text_of(item);
  return out;
}

}  // namespace

std::string to_string(const Tensor& tensor) {
  if (!tensor) return "(no tensor)";
  return fmt::format("'{}' {} {}", tensor.name(), name_of(tensor.dtype()), to_string(tensor.shape()));
}

std::string to_string(const Operation& operation) {
  if (!operation) return "(no operation)";
  const std::string& name = operation.name();  // throws if the graph is gone
  const Node& node = *operation.node();
  return fmt::format("{} '{}' ({}) -> ({}) {}", node.def->name, name,
                     joined(node.inputs, [](const Tensor& t) { return to_string(t); }), joined(node.outputs, text),
                     made_at(node));
}

std::string to_string(const Variable& variable) {
  return variable ? to_string(variable.handle()) : std::string("(no variable)");
}

}  // namespace belfry
