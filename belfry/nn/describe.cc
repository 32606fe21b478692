#include "belfry/nn/describe.h"

#include <algorithm>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/nn/internal/layer_cost.h"

namespace belfry {
namespace {

// Lines of cells; each column is as wide as its widest cell, and the first line is the heading.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) : widths_(heading.size()) { add(std::move(heading)); }

  void add(std::vector<std::string> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], cells[i].size());
    lines_.push_back(std::move(cells));
  }

  std::string text() const {
    std::string out;
    for (const std::vector<std::string>& cells : lines_) {
      for (std::size_t i = 0; i + 1 < cells.size(); ++i) out += fmt::format("{:<{}}  ", cells[i], widths_[i]);
      out += cells.back() + "\n";
    }
    return out;
  }

 private:
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> lines_;
};

// A layer is finished after its parts: here it goes before them.
std::vector<LayerShapes> parts_last(const std::vector<LayerShapes>& finished) {
  std::vector<LayerShapes> out;
  for (const LayerShapes& layer : finished) {
    auto at = out.end();
    while (at != out.begin() && (at - 1)->name.starts_with(layer.name + "/")) --at;
    out.insert(at, layer);
  }
  return out;
}

// 1,234,567
std::string grouped(std::int64_t number) {
  std::string out = std::to_string(number);
  for (std::size_t at = out.size(); at > 3;) out.insert(at -= 3, ",");
  return out;
}

std::int64_t parameters_below(const std::vector<Variable>& variables, const std::string& layer) {
  std::int64_t count = 0;
  for (const Variable& v : variables)
    if (v.name().starts_with(layer + "/")) count += v.shape().elements();
  return count;
}

}  // namespace

std::string describe_layers(const Graph& graph) {
  if (graph.layers().empty()) return "no layers\n";
  const std::vector<Variable> trained = graph.collections().variables(collection::kTrainableVariables);
  Table table({"layer", "input", "output", "parameters", "MFLOP", "output kB"});
  std::int64_t count = 0, parameters = 0;
  LayerCost total;
  const LayerCosts costs(graph);
  std::string whole;  // the last layer that is not part of another
  for (const LayerShapes& layer : parts_last(graph.layers())) {
    const std::int64_t own = parameters_below(trained, layer.name);
    const LayerCost cost = costs.of(layer.name);
    table.add({layer.name, to_string(layer.input), to_string(layer.output), grouped(own),
               fmt::format("{:.3f}", cost.flops / 1e6), fmt::format("{:.2f}", cost.output_bytes / 1e3)});
    if (!whole.empty() && layer.name.starts_with(whole + "/")) continue;
    whole = layer.name;
    ++count;
    parameters += own;
    total.flops += cost.flops;
    total.output_bytes += cost.output_bytes;
  }
  return table.text() +
         fmt::format("{} layer{}, {} parameters; forward, per example: {:.3f} MFLOP, {:.2f} kB of outputs\n", count,
                     count == 1 ? "" : "s", grouped(parameters), total.flops / 1e6, total.output_bytes / 1e3);
}

std::string describe_trainable_vars(const Graph& graph) {
  const std::vector<Variable> variables = graph.collections().variables(collection::kTrainableVariables);
  if (variables.empty()) return "no trainable variables\n";
  Table table({"trainable variable", "shape", "type", "elements", "device"});
  std::int64_t elements = 0, bytes = 0;
  for (const Variable& v : variables) {
    const std::int64_t count = v.shape().elements();
    const Device& device = v.node()->device;
    table.add({v.name(), to_string(v.shape()), std::string(name_of(v.dtype())), grouped(count),
               (device.empty() ? Device(0) : device).name()});
    elements += count;
    bytes += count * static_cast<std::int64_t>(size_of(v.dtype()));
  }
  return table.text() + fmt::format("{} trainable variables, {} elements, {:.2f} MB\n", variables.size(),
                                    grouped(elements), static_cast<double>(bytes) / 1e6);
}

}  // namespace belfry
