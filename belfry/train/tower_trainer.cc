#include "belfry/train/tower_trainer.h"

#include <algorithm>
#include <map>
#include <set>

#include "belfry/base/check.h"
#include "belfry/base/parallel.h"
#include "belfry/engine/backend.h"
#include "belfry/graph/internal/graph_transaction.h"
#include "belfry/ops/basic.h"
#include "belfry/tower/tower_context.h"

namespace belfry {
namespace {

std::string list_of(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += fmt::format("{}'{}'", out.empty() ? "" : ", ", name);
  return out.empty() ? "none" : out;
}

// The first input of the signature that `output` needs and that is not computed from `given`; "" if there is none.
std::string missing_input(const Tensor& output, const Tensors& given, const Tensors& inputs,
                          const std::vector<TensorSpec>& signature) {
  std::set<const Node*> seen;
  std::vector<Tensor> open{output};
  while (!open.empty()) {
    const Tensor t = open.back();
    open.pop_back();
    if (std::ranges::find(given, t) != given.end()) continue;
    const auto input = std::ranges::find(inputs, t);
    if (input != inputs.end()) return signature[static_cast<std::size_t>(input - inputs.begin())].name;
    if (seen.insert(t.node()).second) open.insert(open.end(), t.node()->inputs.begin(), t.node()->inputs.end());
  }
  return "";
}

}  // namespace

TowerTrainer::TowerTrainer(Devices devices, const Location& where) : devices_(std::move(devices)), where_(where) {
  BELFRY_CHECK(!devices_.empty(), "[trainer] expected at least one device, got none (at {}).", to_string(where));
  std::ranges::sort(devices_);
  const auto twice = std::ranges::adjacent_find(devices_);
  BELFRY_CHECK(twice == devices_.end(), "[trainer] expected each device once, got {} twice (at {}).",
               twice == devices_.end() ? "" : twice->name(), to_string(where));
  BELFRY_CHECK(on_first_device() || !devices_.front().empty(),
               "[trainer] expected devices with a kind and a number, got none (at {}).", to_string(where));
}

SessionConfig TowerTrainer::adapt(SessionConfig config) const {
  if (on_first_device()) return config;
  std::map<std::string, int> needed;                                                  // by kind
  for (const Device& device : devices_) needed[device.kind()] = device.number() + 1;  // ascending
  if (config.devices.size() == 1 && config.devices[0] == DeviceConfig{}) {
    const int cores = hardware_threads();
    for (const auto& [kind, count] : needed)
      BELFRY_CHECK(!backend_of(kind).has_threads || count <= cores,
                   "[trainer] expected devices from {0}:0 to {0}:{1}, because there are {2} cores to share, got "
                   "{0}:{3} (at {4}). Use fewer devices, or set in SessionConfig how many threads each has.",
                   kind, cores - 1, cores, count - 1, to_string(where_));
    config.devices.clear();
    for (const auto& [kind, count] : needed)
      config.devices.insert(config.devices.end(), static_cast<std::size_t>(count), {.kind = kind});
  }
  const std::vector<std::string> kinds = device_kinds();
  for (const DeviceConfig& device : config.devices)
    if (std::ranges::find(kinds, device.kind) == kinds.end()) return config;  // the session's error lists the kinds
  for (const auto& [kind, count] : needed) {
    const auto there = std::ranges::count(config.devices, kind, &DeviceConfig::kind);
    BELFRY_CHECK(there >= count,
                 "[trainer] expected a session with devices {0}:0 to {0}:{1}, got {2} (at {3}). Add devices to "
                 "SessionConfig, or omit them for equal shares of the cores.",
                 kind, count - 1, there, to_string(trained_at()));
  }
  return config;
}

void TowerTrainer::set_tower_func(TowerFunc function) {
  BELFRY_CHECK(!tower_func_, "[TowerTrainer] expected one tower function, got a second one. Make another trainer.");
  BELFRY_CHECK(static_cast<bool>(function), "[TowerTrainer] expected a tower function, got an empty one.");
  tower_func_ = std::move(function);
}

TowerFunc& TowerTrainer::tower_func() {
  BELFRY_CHECK(static_cast<bool>(tower_func_),
               "[TowerTrainer] expected a tower function, got none. Call setup_graph() or set_tower_func() first.");
  return tower_func_;
}

const TowerTensorHandles& TowerTrainer::towers() const { return tower_func_.towers(); }

// Looks in the main training tower.
Tensor TowerTrainer::find_tensor(std::string_view name) const {
  for (const TowerTensorHandle& tower : towers().all())
    if (tower.is_training() && tower.index() == 0) return tower.find_tensor(name);
  return {};
}

Device TowerTrainer::inference_device(std::string_view caller, const Device& device) const {
  if (device.empty()) return devices_.front();
  const auto fits = [&](const Device& last) { return last.kind() == device.kind() && device <= last; };
  // The session's first device is the first of its kind, which is known only later.
  const Devices there = on_first_device() ? Devices{Device::of(device.kind(), 0)} : devices_;
  BELFRY_CHECK(std::ranges::any_of(there, fits),
               "[{}] expected a device among {}, got {}. Inference runs where a tower trains.", caller,
               to_string(there), device.name());
  return device;
}

const TowerTensorHandle& TowerTrainer::build_inference_tower(const std::string& name, const Tensors& inputs,
                                                             const Device& device, const Location& where) {
  return build_inference_tower(name, [&] { return inputs; }, device, where);
}

const TowerTensorHandle& TowerTrainer::build_inference_tower(const std::string& name,
                                                             const std::function<Tensors()>& inputs,
                                                             const Device& device, const Location& where) {
  const Device on = inference_device("build_inference_tower", device);
  const GraphScope scope(graph());
  const DeviceScope place(on);
  const PredictTowerContext tower(name, {.variable_scope = variables_on(on),
                                         .reuse = towers().training().empty() ? std::optional<Reuse>() : Reuse::yes});
  tower_func()(inputs(), where);
  return towers()[name];
}

OnlinePredictor TowerTrainer::get_predictor(const std::vector<std::string>& inputs,
                                            const std::vector<std::string>& outputs, const Device& device,
                                            const Location& where) {
  const Device on = inference_device("get_predictor", device);
  // A scope has no colon in its name.
  const std::string name = fmt::format("predict_tower{}{}", on.kind() == "cpu" ? "" : on.kind(), on.number());
  if (!predict_towers_.contains(name)) {
    BELFRY_CHECK(
        !graph().finalized(),
        "[get_predictor] expected to be called before initialize(), got a call after. Ask for it while the graph is "
        "defined, in a callback's setup_graph() say; the predictor itself is used later.");
    const GraphScope scope(graph());
    GraphTransaction transaction(graph());
    {
      const NameScope names(name + "_inputs");
      Tensors fed;
      for (const TensorSpec& spec : tower_func().signature()) fed.push_back(placeholder(spec, where));
      build_inference_tower(name, fed, on, where);
    }
    transaction.keep();
    predict_towers_.insert(name);
  }
  const TowerTensorHandle& tower = towers()[name];
  Tensors from, to;
  for (const std::string& name : inputs) from.push_back(tower.get_tensor(name));
  for (const std::string& name : outputs) to.push_back(tower.get_tensor(name));
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::string missing = missing_input(to[i], from, tower.inputs().tensors(), tower_func().signature());
    BELFRY_CHECK(missing.empty(),
                 "[get_predictor] expected inputs that '{}' can be computed from, got {} without '{}' (at {}). Add it, "
                 "or ask for an output that does not need it.",
                 outputs[i], list_of(inputs), missing, to_string(where));
  }
  return {[this]() -> Session& { return session(); }, std::move(from), std::move(to), inputs};
}

}  // namespace belfry
