#include "belfry/session/session.h"

#include <algorithm>
#include <list>

#include "belfry/base/check.h"
#include "belfry/base/parallel.h"
#include "belfry/engine/device_team.h"
#include "belfry/engine/plan.h"
#include "belfry/engine/variable_store.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/initialization.h"

namespace belfry {
namespace {

std::vector<DeviceInfo> resolve(const SessionConfig& config) {
  const int count = static_cast<int>(config.devices.size()), cores = hardware_threads();
  BELFRY_CHECK(count > 0, "[Session] expected at least one device, got none");
  std::vector<DeviceInfo> out;
  int total = 0;
  for (const DeviceConfig& device : config.devices) {
    BELFRY_CHECK(device.threads >= 0, "[Session] expected a number of threads of 0 (automatic) or more, got {}",
                 device.threads);
    out.push_back({device.threads > 0 ? device.threads : std::max(1, cores / count)});
    total += out.back().threads;
  }
  BELFRY_CHECK(count == 1 || total <= std::max(cores, count),
               "[Session] expected devices with no more threads than the {} cores together, got {}", cores, total);
  return out;
}

std::string feed_text(const Array& value) {
  return fmt::format("{} {}", name_of(value.dtype()), to_string(value.shape()));
}

}  // namespace

struct Session::Impl {
  Impl(Graph& g, const SessionConfig& c) : graph(g), config(c), team(resolve(c)) {
    for (std::size_t i = 0; i < team.devices().size(); ++i) arenas.push_back(std::make_unique<Arena>());
    if (config.profile) profiler = std::make_unique<Profiler>();
  }

  struct Cached {
    std::string key;
    std::shared_ptr<Plan> plan;
  };

  Tensor resolve_tensor(const Fetch& fetch) const {
    return fetch.name().empty() ? fetch.tensor() : graph.get_tensor_by_name(fetch.name());
  }

  // Splits fetches into tensors and operations; `places` says where each tensor's value goes in the result.
  Signature signature(const std::vector<Fetch>& fetches, const std::vector<Tensor>& feeds,
                      std::vector<int>* places) const {
    Signature s;
    for (const Fetch& fetch : fetches) {
      Operation target = fetch.operation();
      if (!fetch.name().empty() && graph.has_name(fetch.name()) &&
          graph.get_operation_by_name(fetch.name()).outputs() == 0)
        target = graph.get_operation_by_name(fetch.name());
      if (target) {
        BELFRY_CHECK(target.node()->graph == &graph,
                     "[Session::run] expected operations of the session's graph, got '{}' of another one. Use that "
                     "graph's session.",
                     target.name());
        s.targets.push_back(target);
        places->push_back(kNone);
        continue;
      }
      const Tensor tensor = resolve_tensor(fetch);
      BELFRY_CHECK(static_cast<bool>(tensor),
                   "[Session::run] expected a tensor or operation to fetch, got an empty handle");
      BELFRY_CHECK(&tensor.graph() == &graph,
                   "[Session::run] expected fetches of the session's graph, got '{}' of another one", tensor.name());
      places->push_back(static_cast<int>(s.fetches.size()));
      s.fetches.push_back(tensor);
    }
    s.feeds = feeds;
    return s;
  }

  void check_feed(const Tensor& tensor, const Array& value) const {
    BELFRY_CHECK(static_cast<bool>(tensor) && &tensor.graph() == &graph,
                 "[Session::run] expected feeds of the session's graph, got {}",
                 tensor ? "'" + tensor.name() + "' of another one" : "an empty handle");
    BELFRY_CHECK(value.dtype() == tensor.dtype() && compatible(value.shape(), tensor.shape()),
                 "[Session::run] expected {} {} for '{}', got {} {}", name_of(tensor.dtype()),
                 to_string(tensor.shape()), tensor.name(), feed_text(value), made_at(*tensor.node()));
  }

  static std::string key_of(const Signature& s) {
    std::string key;
    for (const Tensor& t : s.fetches) key += fmt::format("f{}:{} ", t.node()->id, t.output());
    for (const Operation& o : s.targets) key += fmt::format("o{} ", o.node()->id);
    for (std::size_t i = 0; i < s.feeds.size(); ++i)
      key += fmt::format("d{}:{}={} ", s.feeds[i].node()->id, s.feeds[i].output(), to_string(s.fed[i].shape));
    return key;
  }

  std::shared_ptr<Plan> plan_for(const Signature& s) {
    const std::string key = key_of(s);
    const auto at = std::ranges::find_if(cache, [&](const Cached& c) { return c.key == key; });
    if (at != cache.end() && at->plan->generation() == store.generation()) {
      cache.splice(cache.begin(), cache, at);
      return at->plan;
    }
    if (at != cache.end()) cache.erase(at);
    std::shared_ptr<Plan> plan = compile(graph, s, {.store = store, .arenas = arenas, .devices = team.devices()});
    cache.push_front({key, plan});
    while (static_cast<int>(cache.size()) > std::max(1, config.plan_cache)) cache.pop_back();
    return plan;
  }

  void check_initialized(const Plan& plan) const {
    for (std::size_t i = 0; i < plan.variables().size(); ++i)
      BELFRY_CHECK(*plan.variables_ready()[i],
                   "[Variable '{}'] expected a value before it is read, got none {}. Call session.initialize() or load "
                   "a checkpoint first.",
                   plan.variables()[i]->name, made_at(*plan.variables()[i]));
  }

  Step next_step(const RunOptions& options) {
    constexpr std::uint64_t kOwnSequence = std::uint64_t{1} << 63;
    return {.number = options.random_step ? *options.random_step : (random_counter++ | kOwnSequence),
            .seed = graph.seed()};
  }

  void execute(Plan& plan, const Step& step, const std::vector<const void*>& feeds, const std::vector<void*>& results) {
    check_initialized(plan);
    plan.run(step, feeds, results, team, profiler.get());
    for (bool* ready : plan.assigned_ready()) *ready = true;
  }

  Graph& graph;
  SessionConfig config;
  DeviceTeam team;
  VariableStore store;
  std::vector<std::unique_ptr<Arena>> arenas;
  std::list<Cached> cache;  // most recently used first
  std::unique_ptr<Profiler> profiler;
  std::uint64_t random_counter = 0;
};

Session::Session(Graph& graph, SessionConfig config) : impl_(std::make_unique<Impl>(graph, config)) {}
Session::~Session() = default;
Graph& Session::graph() { return impl_->graph; }

void Session::initialize(bool again) {
  for (std::vector<Variable>& variables : initialization_order(impl_->graph)) {
    if (!again) std::erase_if(variables, [this](const Variable& v) { return is_initialized(v); });
    if (variables.empty()) continue;
    std::vector<Fetch> values;
    for (const Variable& v : variables) values.emplace_back(v.initial_value());
    const std::vector<Array> initial = run(values, {}, {.random_step = 0});
    for (std::size_t i = 0; i < variables.size(); ++i) set_value(variables[i], initial[i]);
  }
}

std::vector<Array> Session::run(const std::vector<Fetch>& fetches, const Feeds& feeds, const RunOptions& options) {
  std::vector<Tensor> fed;
  for (const auto& [tensor, value] : feeds) {
    impl_->check_feed(tensor, value);
    BELFRY_CHECK(std::ranges::find(fed, tensor) == fed.end(),
                 "[Session::run] expected each tensor to be fed once, got '{}' twice", tensor.name());
    fed.push_back(tensor);
  }
  std::vector<int> places;
  Signature signature = impl_->signature(fetches, fed, &places);
  std::vector<const void*> pointers;
  for (const auto& [tensor, value] : feeds) {
    signature.fed.push_back({"", value.dtype(), value.shape()});
    pointers.push_back(value.raw());
  }
  const std::shared_ptr<Plan> plan = impl_->plan_for(signature);
  std::vector<Array> values;
  std::vector<void*> results;
  for (const TensorInfo& info : plan->fetched()) results.push_back(values.emplace_back(info.dtype, info.shape).raw());
  impl_->execute(*plan, impl_->next_step(options), pointers, results);
  std::vector<Array> out;
  for (int place : places) out.push_back(place == kNone ? Array() : values[static_cast<std::size_t>(place)]);
  return out;
}

Array Session::run(const Fetch& fetch, const Feeds& feeds, const RunOptions& options) {
  return run(std::vector<Fetch>{fetch}, feeds, options)[0];
}

// Everything a callable needs between calls; rebuilt when the shapes fed or the variables' layouts change.
namespace {
struct Bound {
  std::shared_ptr<Plan> plan;
  std::vector<Shape> shapes;
  std::vector<const void*> feeds;
  std::vector<Array> values, out;
  std::vector<void*> results;
};
}  // namespace

Session::Callable Session::make_callable(const std::vector<Fetch>& fetches, const std::vector<Tensor>& feeds) {
  auto places = std::make_shared<std::vector<int>>();
  const Signature base = impl_->signature(fetches, feeds, places.get());
  auto bound = std::make_shared<Bound>();
  return [impl = impl_.get(), base, places, bound](std::span<const Array> given) -> std::span<const Array> {
    BELFRY_CHECK(given.size() == base.feeds.size(), "[callable] expected {} feeds, got {}", base.feeds.size(),
                 given.size());
    bool same = bound->plan && bound->plan->generation() == impl->store.generation();
    for (std::size_t i = 0; i < given.size() && same; ++i)
      same = given[i].shape() == bound->shapes[i] && given[i].dtype() == base.feeds[i].dtype();
    if (!same) {
      Signature signature = base;
      for (std::size_t i = 0; i < given.size(); ++i) {
        impl->check_feed(base.feeds[i], given[i]);
        signature.fed.push_back({"", given[i].dtype(), given[i].shape()});
      }
      *bound = {};
      bound->plan = impl->plan_for(signature);
      for (const Array& a : given) bound->shapes.push_back(a.shape());
      bound->feeds.resize(given.size());
      for (const TensorInfo& info : bound->plan->fetched())
        bound->results.push_back(bound->values.emplace_back(info.dtype, info.shape).raw());
      for (int place : *places)
        bound->out.push_back(place == kNone ? Array() : bound->values[static_cast<std::size_t>(place)]);
    }
    for (std::size_t i = 0; i < given.size(); ++i) bound->feeds[i] = given[i].raw();
    impl->execute(*bound->plan, impl->next_step({}), bound->feeds, bound->results);
    return bound->out;
  };
}

Array Session::value(const Variable& variable) const { return impl_->store.get(variable.node()); }
void Session::set_value(const Variable& variable, const Array& value) {
  BELFRY_CHECK(variable && variable.node()->graph == &impl_->graph,
               "[Session::set_value] expected a variable of the session's graph, got {}",
               variable ? "'" + variable.name() + "' of another one" : "an empty handle");
  // A number may be written as 1e-4 where the variable is f32.
  const bool number = value.shape().rank() == 0 && is_float(value.dtype()) && is_float(variable.dtype());
  impl_->store.set(variable.node(), number ? value.cast(variable.dtype()) : value);
}
bool Session::is_initialized(const Variable& variable) const {
  const VariableStore::Storage* s = impl_->store.find(variable.node());
  return s != nullptr && s->initialized;
}
void Session::set_random_counter(std::uint64_t count) { impl_->random_counter = count; }
std::uint64_t Session::random_counter() const { return impl_->random_counter; }

int Session::cached_plans() const { return static_cast<int>(impl_->cache.size()); }

std::string Session::explain(const std::vector<Fetch>& fetches, const Feeds& feeds) {
  std::vector<Tensor> fed;
  for (const auto& [tensor, value] : feeds) fed.push_back(tensor);
  std::vector<int> places;
  Signature signature = impl_->signature(fetches, fed, &places);
  for (const auto& [tensor, value] : feeds) {
    impl_->check_feed(tensor, value);
    signature.fed.push_back({"", value.dtype(), value.shape()});
  }
  return impl_->plan_for(signature)->explain();
}

std::vector<ProfileTotal> Session::profile_totals() const {
  std::vector<ProfileTotal> out;
  if (impl_->profiler)
    for (const Profiler::Total& t : impl_->profiler->totals())
      out.push_back({t.op, static_cast<double>(t.nanoseconds) * 1e-9, t.onednn});
  return out;
}

void Session::clear_profile() {
  if (impl_->profiler) impl_->profiler->clear();
}

void Session::write_trace(const std::string& path) const {
  BELFRY_CHECK(impl_->profiler != nullptr,
               "[write_trace] expected a session with a profiler, got one without. Set SessionConfig::profile.");
  impl_->profiler->write(path);
}

}  // namespace belfry
