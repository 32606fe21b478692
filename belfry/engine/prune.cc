#include <algorithm>
#include <map>

#include "belfry/base/check.h"
#include "belfry/engine/cross_tower.h"
#include "belfry/engine/engine_kinds.h"
#include "belfry/engine/needed.h"
#include "belfry/engine/node_table.h"
#include "belfry/graph/graph.h"

namespace belfry {
namespace {

using Key = std::pair<const Node*, int>;

class Pruner {
 public:
  Pruner(const Signature& signature, const std::vector<DeviceInfo>& devices)
      : signature_(signature), devices_(devices) {
    for (std::size_t i = 0; i < signature.feeds.size(); ++i)
      fed_[{signature.feeds[i].node(), signature.feeds[i].output()}] = i;
  }

  Ir run() {
    add_feeds();
    for (const Node* node : needed_nodes(signature_)) add(*node);
    for (std::size_t i = 0; i < signature_.fetches.size(); ++i) add_fetch(i);
    for (const Operation& op : signature_.targets) ir_.roots.push_back(nodes_[op.node()]);
    if (!sums_.empty()) link_towers();
    return std::move(ir_);
  }

 private:
  int device_of(const Node& node) const {
    if (node.device.empty()) return 0;
    const auto at = std::ranges::find(devices_, node.device, &DeviceInfo::name);
    if (at != devices_.end()) return static_cast<int>(at - devices_.begin());
    Devices there;
    for (const DeviceInfo& device : devices_) there.push_back(device.name);
    fail("{} expected a device of the session ({}), got {} {}. Add devices to SessionConfig.", describe(node),
         to_string(there), node.device.name(), made_at(node));
  }

  ValueId value_of(const Tensor& t) {
    if (const auto fed = fed_values_.find({t.node(), t.output()}); fed != fed_values_.end()) return fed->second;
    return first_values_[t.node()] + t.output();
  }

  void add_feeds() {
    for (std::size_t i = 0; i < signature_.feeds.size(); ++i) {
      const Tensor& t = signature_.feeds[i];
      const TensorInfo info{.dtype = t.dtype(), .shape = signature_.fed.empty() ? t.shape() : signature_.fed[i].shape};
      IrNode node{.op = kFeed,
                  .origin = t.node(),
                  .attributes = {{"index", static_cast<std::int64_t>(i)}},
                  .device = device_of(*t.node())};
      const NodeId id = ir_.add_node(std::move(node), {info});
      fed_values_[{t.node(), t.output()}] = ir_.node(id).outputs[0];
      if (is_fed(t.node(), fed_))
        nodes_[t.node()] = id;  // nodes that wait for the operation wait for the last of its feeds
    }
  }

  void add(const Node& origin) {
    BELFRY_CHECK(!origin.def->must_be_fed,
                 "{} expected a value to be fed, got none {}. Feed it, or fetch something that does not depend on it.",
                 describe(origin), made_at(origin));
    BELFRY_CHECK(!origin.def->taken,
                 "{} expected a point that its session took, got none {}. Run it with Session::run.", describe(origin),
                 made_at(origin));
    IrNode node{
        .op = origin.def->kind, .origin = &origin, .attributes = origin.attributes, .device = device_of(origin)};
    for (const Tensor& t : origin.inputs) node.inputs.push_back(value_of(t));
    for (const Node* before : origin.control_inputs) node.after.push_back(nodes_[before]);
    node.conditions.assign(origin.conditions.begin(), origin.conditions.end());
    std::vector<TensorInfo> outputs;
    for (const TensorSpec& spec : origin.outputs) outputs.push_back({.dtype = spec.dtype, .shape = spec.shape});
    const NodeId id = ir_.add_node(std::move(node), outputs);
    nodes_[&origin] = id;
    if (!outputs.empty()) first_values_[&origin] = ir_.node(id).outputs[0];
    if (origin.def->variable) ir_.value(ir_.node(id).outputs[0]).variable = &origin;
    if (is_cross_tower_sum(origin)) sums_.push_back(id);
  }

  // A sum across towers gets the inputs of all of them. Those of later towers have higher numbers than the sums of
  // earlier ones, so the nodes are renumbered.
  void link_towers() {
    CrossTowerGroups groups;
    for (NodeId id : sums_) {
      std::vector<ValueId> inputs;
      for (const Node* member : groups.members(*ir_.node(id).origin)) inputs.push_back(value_of(member->inputs[0]));
      ir_.change(id, [&](IrNode& node) { node.inputs = std::move(inputs); });
    }
    ir_.reorder(topological(ir_));
  }

  void add_fetch(std::size_t index) {
    const Tensor& t = signature_.fetches[index];
    IrNode node{.op = kFetch,
                .origin = t.node(),
                .inputs = {value_of(t)},
                .attributes = {{"index", static_cast<std::int64_t>(index)}},
                .device = device_of(*t.node())};
    ir_.roots.push_back(ir_.add_node(std::move(node), {}));
  }

  const Signature& signature_;
  const std::vector<DeviceInfo>& devices_;
  std::map<Key, std::size_t> fed_;
  NodeTable<NodeId> nodes_;
  NodeTable<ValueId> first_values_;    // of nodes that are here: their outputs have numbers in a row, ...
  std::map<Key, ValueId> fed_values_;  // ... but what is fed has another
  std::vector<NodeId> sums_;           // across towers
  Ir ir_;
};

}  // namespace

Ir prune(const Signature& signature, const std::vector<DeviceInfo>& devices) {
  Ir ir = Pruner(signature, devices).run();
  place_variables(ir, devices);
  return ir;
}

}  // namespace belfry
