#include <algorithm>
#include <map>
#include <memory>

#include "belfry/base/check.h"
#include "belfry/graph/export.h"
#include "belfry/graph/graph.h"

namespace belfry {
namespace {

// A quoted string of DOT: quotes, backslashes and HTML entities escaped, line breaks written as \n, other control
// characters and bytes that are not UTF-8 replaced (Graphviz refuses them).
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t length = c < 0x80                ? 1
                               : c >= 0xc2 && c < 0xe0 ? 2
                               : c >= 0xe0 && c < 0xf0 ? 3
                               : c >= 0xf0 && c < 0xf5 ? 4
                                                       : 0;
    const auto continues = [](char b) { return (static_cast<unsigned char>(b) & 0xc0) == 0x80; };
    const bool valid = length > 0 && i + length <= text.size() &&
                       std::all_of(text.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                   text.begin() + static_cast<std::ptrdiff_t>(i + length), continues);
    if (!valid || (c < 0x20 && c != '\n') || c == 0x7f) {
      out += '?';
      ++i;
      continue;
    }
    if (c == '\n')
      out += "\\n";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"' || c == '\\')
      out += {'\\', text[i]};
    else
      out += text.substr(i, length);
    i += length;
  }
  return out + '"';
}

struct Scope {
  std::map<std::string, Scope, std::less<>> inner;
  std::vector<const Node*> nodes;
};

class DotWriter {
 public:
  explicit DotWriter(const Graph& graph) : graph_(graph) {}

  std::string run() {
    Scope root;
    for (const auto& node : graph_.nodes()) place(root, *node);
    text_ = "digraph belfry {\n  rankdir=TB;\n  node [shape=box, fontsize=10];\n  edge [fontsize=8];\n";
    write(root, "", 1);
    for (const auto& node : graph_.nodes()) write_edges(*node);
    return text_ + "}\n";
  }

 private:
  static void place(Scope& root, const Node& node) {
    Scope* scope = &root;
    std::string_view rest = node.name;
    for (std::size_t slash; (slash = rest.find('/')) != std::string_view::npos; rest.remove_prefix(slash + 1)) {
      const std::string part(rest.substr(0, slash));
      scope = &scope->inner[part];
    }
    scope->nodes.push_back(&node);
  }

  void write(const Scope& scope, const std::string& name, int depth) {
    const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
    for (const auto& [part, inner] : scope.inner) {
      const std::string full = name.empty() ? part : name + "/" + part;
      text_ +=
          fmt::format("{}subgraph {} {{\n{}  label={};\n", indent, quoted("cluster_" + full), indent, quoted(part));
      write(inner, full, depth + 1);
      text_ += indent + "}\n";
    }
    for (const Node* node : scope.nodes) text_ += indent + describe_node(*node);
  }

  static std::string describe_node(const Node& node) {
    const std::size_t slash = node.name.rfind('/');
    const std::string label = (slash == std::string::npos ? node.name : node.name.substr(slash + 1)) + "\n" +
                              node.def->name + (node.device.empty() ? "" : "\n" + node.device.name());
    std::string look;
    if (node.def->variable)
      look = ", shape=cylinder, style=filled, fillcolor=lightblue";
    else if (!node.def->updates.empty())
      look = ", peripheries=2, style=filled, fillcolor=lightsalmon";
    else if (node.inputs.empty())
      look = ", style=rounded";
    return fmt::format("n{} [label={}, tooltip={}{}];\n", node.id, quoted(label),
                       quoted(node.name + " at " + to_string(node.where)), look);
  }

  void write_edges(const Node& node) {
    for (const Tensor& input : node.inputs) {
      const std::string label = fmt::format("{}{} {}", input.output() == 0 ? "" : fmt::format(":{} ", input.output()),
                                            name_of(input.dtype()), to_string(input.shape()));
      text_ += fmt::format("  n{} -> n{} [label={}];\n", input.node()->id, node.id, quoted(label));
    }
    for (const Node* before : node.control_inputs)
      text_ += fmt::format("  n{} -> n{} [style=dashed];\n", before->id, node.id);
  }

  const Graph& graph_;
  std::string text_;
};

}  // namespace

std::string to_dot(const Graph& graph) { return DotWriter(graph).run(); }

}  // namespace belfry
