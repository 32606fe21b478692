#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "belfry/graph/export.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/subgraph.h"

namespace belfry {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kWholeArray = 16;  // larger ones are summarised

Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json element(const Array& array, std::int64_t index) {
  if (array.dtype() == DType::i64) return array.values<std::int64_t>()[static_cast<std::size_t>(index)];  // exact
  const double value = array.item(index);
  if (array.dtype() == DType::boolean) return value != 0;
  return is_float(array.dtype()) ? number(value) : Json(static_cast<std::int64_t>(value));
}

Json json_of(const Shape& shape) {
  Json out = Json::array();
  for (std::int64_t size : shape) out.push_back(size == kAny ? Json() : Json(size));
  return out;
}

Json json_of(const Array& array) {
  Json out{{"dtype", name_of(array.dtype())}, {"shape", json_of(array.shape())}};
  if (array.elements() <= kWholeArray) {
    Json values = Json::array();
    for (std::int64_t i = 0; i < array.elements(); ++i) values.push_back(element(array, i));
    out["values"] = std::move(values);
    return out;
  }
  double least = array.item(0), most = least, sum = 0;
  bool nan = false;
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    const double value = array.item(i);
    nan = nan || std::isnan(value);
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
  }
  out["min"] = nan ? Json("nan") : number(least);
  out["max"] = nan ? Json("nan") : number(most);
  out["mean"] = number(sum / static_cast<double>(array.elements()));
  return out;
}

Json json_of(const Node& node);

struct AttributeToJson {
  Json operator()(double v) const { return number(v); }
  Json operator()(DType v) const { return name_of(v); }
  Json operator()(const Shape& v) const { return json_of(v); }
  Json operator()(const Array& v) const { return json_of(v); }
  Json operator()(const SubGraphPtr& v) const {
    Json nodes = Json::array();
    for (const auto& node : v->graph->nodes()) nodes.push_back(json_of(*node));
    return nodes;
  }
  Json operator()(const auto& v) const { return v; }
};

Json json_of(const Node& node) {
  Json inputs = Json::array(), control = Json::array(), attributes = Json::object(), outputs = Json::array();
  for (const Tensor& input : node.inputs) inputs.push_back(input.name());
  for (const Node* before : node.control_inputs) control.push_back(before->name);
  for (const auto& [name, value] : node.attributes.items()) attributes[name] = std::visit(AttributeToJson{}, value);
  for (const TensorSpec& spec : node.outputs)
    outputs.push_back({{"name", spec.name}, {"dtype", name_of(spec.dtype)}, {"shape", json_of(spec.shape)}});
  Json out{{"op", node.def->name},         {"name", node.name},        {"inputs", inputs},
           {"control_inputs", control},    {"attributes", attributes}, {"outputs", outputs},
           {"device", node.device.name()}, {"tower", node.tower},      {"where", to_string(node.where)}};
  for (const Node* flag : node.conditions) out["conditions"].push_back(flag->name);
  return out;
}

Json variables_of(const Graph& graph) {
  Json out = Json::array();
  for (const Variable& v : graph.variables())
    out.push_back({{"name", v.name()},
                   {"dtype", name_of(v.dtype())},
                   {"shape", json_of(v.shape())},
                   {"trainable", v.trainable()},
                   {"initial_value", v.initial_value().name()}});
  return out;
}

Json collections_of(const Graph& graph) {
  const Collections& collections = graph.collections();
  Json out = Json::object();
  for (const std::string& name : collections.names()) {
    Json items = Json::array();
    for (const Tensor& t : collections.tensors(name)) items.push_back(t.name());
    for (const Operation& o : collections.operations(name)) items.push_back(o.name());
    for (const Variable& v : collections.variables(name)) items.push_back(v.name());
    out[name] = std::move(items);
  }
  return out;
}

}  // namespace

std::string to_json(const Graph& graph) {
  Json nodes = Json::array();
  for (const auto& node : graph.nodes()) nodes.push_back(json_of(*node));
  const Json out{{"nodes", nodes},
                 {"variables", variables_of(graph)},
                 {"collections", collections_of(graph)},
                 {"seed", graph.seed()},
                 {"finalized", graph.finalized()}};
  return out.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace belfry
