#include "belfry/session/internal/session_state.h"

#include <algorithm>
#include <typeinfo>

#include "belfry/base/check.h"
#include "belfry/base/internal/nearest.h"
#include "belfry/base/internal/this_thread.h"
#include "belfry/base/parallel.h"
#include "belfry/engine/needed.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/ancestors.h"
#include "belfry/graph/internal/foreign_handle.h"

namespace belfry {
namespace {

template <class ErrorType>
[[noreturn]] void rethrow(const Error& error, const Caller& caller) {
  std::string text = error.what();
  if (text.ends_with('.')) text.pop_back();
  fail<ErrorType>("{} {}.", text, called_at(caller));
}

// The engine knows the operation at fault and its line, but not the line that asked for the run: that is added to what
// it throws. Other exceptions pass unchanged.
template <class Action>
decltype(auto) naming_the_caller(const Caller& caller, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    const std::type_info& type = typeid(error);
    if (type == typeid(Error)) rethrow<Error>(error, caller);
    if (type == typeid(InternalError)) rethrow<InternalError>(error, caller);
    if (type == typeid(FileError)) rethrow<FileError>(error, caller);
    if (type == typeid(NumericError)) rethrow<NumericError>(error, caller);
    if (type == typeid(EndOfData)) rethrow<EndOfData>(error, caller);
    if (type == typeid(Cancelled)) rethrow<Cancelled>(error, caller);
    throw;
  }
}

std::vector<DeviceInfo> resolve(const SessionConfig& config, const Caller& caller) {
  const int count = static_cast<int>(config.devices.size()), cores = hardware_threads();
  BELFRY_CHECK(
      count > 0,
      "[Session] expected at least one device, got none {}. Omit SessionConfig::devices for one device with all cores.",
      called_at(caller));
  std::vector<DeviceInfo> out;
  int total = 0;
  const auto is_threaded = [&caller](const DeviceConfig& device) {
    return naming_the_caller(caller, [&] { return backend_of(device.kind).has_threads; });
  };
  const auto with_threads = static_cast<int>(std::ranges::count_if(config.devices, is_threaded));
  std::map<std::string, int> numbers;  // by kind: the number of the next device
  for (const DeviceConfig& device : config.devices) {
    BELFRY_CHECK(
        device.threads >= 0,
        "[Session] expected a device with 0 threads or more, got {} {}. Use 0 for an equal share of the cores.",
        device.threads, called_at(caller));
    const bool has_threads = is_threaded(device);
    out.push_back({.threads = !has_threads         ? 1
                              : device.threads > 0 ? device.threads
                                                   : std::max(1, cores / std::max(1, with_threads)),
                   .name = Device::of(device.kind, numbers[device.kind]++)});
    if (has_threads) total += out.back().threads;
  }
  BELFRY_CHECK(count == 1 || total <= std::max(cores, with_threads),
               "[Session] expected devices with at most {} threads in total, as many as cores, got {} {}. Give them "
               "fewer, or 0 for an equal share each.",
               cores, total, called_at(caller));
  return out;
}

int most_threads(const std::vector<DeviceInfo>& devices) {
  return std::ranges::max_element(devices, {}, &DeviceInfo::threads)->threads;
}

// How many things are fetched, run and fed; which ones; and the shapes of the feeds.
SessionState::RunKey key_of(const Signature& s) {
  SessionState::RunKey key{std::ssize(s.fetches), std::ssize(s.targets), std::ssize(s.feeds)};
  const auto add = [&](const Tensor& t) { key.insert(key.end(), {t.node()->id, t.output()}); };
  for (const Tensor& t : s.fetches) add(t);
  for (const Operation& o : s.targets) key.push_back(o.node()->id);
  for (const Tensor& t : s.feeds) add(t);
  for (const TensorSpec& fed : s.fed) {
    key.push_back(fed.shape.rank());
    key.insert(key.end(), fed.shape.dims().begin(), fed.shape.dims().end());
  }
  return key;
}

}  // namespace

std::string called_at(const Caller& caller) {
  if (caller.party.empty()) return fmt::format("({} at {})", caller.done, to_string(caller.where));
  return fmt::format("(asked for by {} in the call at {})", caller.party, to_string(caller.where));
}

FetchTarget target_of(const Fetch& fetch, const Graph& graph, const Caller& caller) {
  const std::string& name = fetch.name();
  if (name.empty()) return {fetch.tensor(), fetch.operation()};
  if (graph.has_name(name))
    if (const Operation operation = graph.get_operation_by_name(name); operation.outputs() == 0)
      return {.operation = operation};
  if (const Tensor tensor = graph.find_tensor(name)) return {.tensor = tensor};
  std::vector<std::string> names;
  for (const Operation& operation : graph.operations()) names.push_back(operation.name());
  fail("[{}] expected the name of a tensor or an operation to fetch, got '{}' {}.{}", caller.name, name,
       called_at(caller), did_you_mean(name, names));
}

SessionUse::SessionUse(SessionUser& user, const Caller& caller) : user_(user) {
  const void* self = this_thread();
  const void* other = nullptr;
  if (user.compare_exchange_strong(other, self, std::memory_order_acquire, std::memory_order_relaxed)) return;
  BELFRY_CHECK(other != self,
               "[{}] expected no call from inside a run of the same session, got one {}. Use another session in a "
               "kernel.",
               caller.name, called_at(caller));
  fail(
      "[{}] expected one thread at a time, got a call while another thread's is running {}. Give each thread a "
      "session, or take turns.",
      caller.name, called_at(caller));
}

SessionState::SessionState(Graph& g, const SessionConfig& c, std::shared_ptr<SessionCommons> common,
                           const Caller& caller)
    : graph(g),
      config(c),
      team(resolve(c, caller)),
      commons(std::move(common)),
      variables(commons->variables),
      queues(commons->queues),
      target{variables, crossings, team.devices(), {}},
      spins(most_threads(team.devices())) {
  for (const DeviceInfo& device : team.devices()) {
    std::unique_ptr<Backend>& backend = backends[device.name.kind()];
    if (backend == nullptr)
      backend = backend_of(device.name.kind())
                    .make({.variables = variables.on(device.name.kind()),
                           .crossings = crossings,
                           .devices = team.devices(),
                           .queues = &queues,
                           .precision = config.precision,
                           .autotune = config.autotune.enabled,
                           .autotune_file = config.autotune.file});
    target.backends.push_back(backend.get());
  }
  if (config.profile) profiler = std::make_unique<Profiler>();
}

Signature SessionState::signature(const std::vector<Fetch>& fetches, const std::vector<Tensor>& feeds,
                                  const Caller& caller, std::vector<int>* places) const {
  Signature s;
  for (const Fetch& fetch : fetches) {
    const FetchTarget target = target_of(fetch, graph, caller);
    const Operation wanted = target.operation ? target.operation : Operation(target.tensor);
    BELFRY_CHECK(static_cast<bool>(wanted), "[{}] expected a tensor or operation to fetch, got an empty handle {}.",
                 caller.name, called_at(caller));
    check_own(wanted, "fetches", caller);
    if (target.operation) {
      places->push_back(kNone);
      s.targets.push_back(target.operation);
    } else {
      places->push_back(static_cast<int>(s.fetches.size()));
      s.fetches.push_back(target.tensor);
    }
  }
  for (const Tensor& tensor : feeds) {
    check_own(tensor, "feeds", caller);
    BELFRY_CHECK(std::ranges::find(s.feeds, tensor) == s.feeds.end(),
                 "[{}] expected each tensor to be fed once, got '{}' twice {}.", caller.name, tensor.name(),
                 called_at(caller));
    s.feeds.push_back(tensor);
  }
  return s;
}

void SessionState::check_feed(const Tensor& tensor, const Array& value, const Caller& caller) const {
  BELFRY_CHECK(value.dtype() == tensor.dtype() && compatible(value.shape(), tensor.shape()),
               "[{}] expected {} {} for '{}', got {} {} {} {}.", caller.name, name_of(tensor.dtype()),
               to_string(tensor.shape()), tensor.name(), name_of(value.dtype()), to_string(value.shape()),
               made_at(*tensor.node()), called_at(caller));
}

void SessionState::check_variable(const Variable& variable, const Caller& caller) const {
  check_own(variable.handle(), "a variable", caller);
}

void SessionState::check_own(const Operation& handle, std::string_view what, const Caller& caller) const {
  if (belongs_to(handle, graph)) return;
  BELFRY_CHECK(static_cast<bool>(handle), "[{}] expected {} of the session's graph, got an empty handle {}.",
               caller.name, what, called_at(caller));
  fail("[{}] expected {} of the session's graph, got {}", caller.name, what,
       foreign(handle, called_at(caller), "Use that graph's session."));
}

const Takes& SessionState::takes_of(const Signature& s) {
  RunKey key = key_of(s);
  const auto at = std::ranges::find(takes_, key, &KnownTakes::key);
  if (at != takes_.end()) {
    takes_.splice(takes_.begin(), takes_, at);
    return at->takes;
  }
  Takes takes{.nodes = needed_takes(s)};
  for (const Node* node : takes.nodes)
    for (int i = 0; i < static_cast<int>(node->outputs.size()); ++i)
      if (const Tensor t(const_cast<Node*>(node), i); std::ranges::find(s.feeds, t) == s.feeds.end())
        takes.tensors.push_back(t);
  takes_.push_front({std::move(key), std::move(takes)});
  while (takes_.size() > plans_kept()) takes_.pop_back();
  return takes_.front().takes;
}

namespace {

// What in the run needs the node, for error texts.
std::string needing(const Node& node, const Signature& signature) {
  std::string out;
  const auto add = [&](Node* wanted, const std::string& name) {
    const std::vector<const Node*> before = with_ancestors({&wanted, 1});
    if (std::ranges::find(before, &node) != before.end()) out += fmt::format("{}'{}'", out.empty() ? "" : ", ", name);
  };
  for (const Tensor& tensor : signature.fetches) add(tensor.node(), tensor.name());
  for (const Operation& operation : signature.targets) add(operation.node(), operation.name());
  return out;
}

void check_not_refused(const DataQueue& queue, const Node& take, const Signature& signature, const Caller& caller) {
  const std::shared_ptr<const DataQueue::Refusal> refusal = queue.refusal();
  if (refusal == nullptr) return;
  fail(
      "[{}] expected only its own runs to fetch what takes points from its input, got {} fetched in another run, while "
      "nothing fills the queue '{}' {}. {}",
      refusal->by, needing(take, signature), queue.name(), called_at(caller), refusal->remedy);
}

}  // namespace

void SessionState::take(const Signature& signature, const Takes& takes, TakenPoints& points, std::vector<Array>& values,
                        const Caller& caller) {
  for (const Node* node : takes.nodes) check_not_refused(*queues.of(queue_of(*node)), *node, signature, caller);
  queues.forget_taken();
  auto next = takes.tensors.begin();
  for (const Node* node : takes.nodes) {
    const QueuedPoint& point = naming_the_caller(caller, [&]() -> const QueuedPoint& {
      try {
        return points.take(queues.of(queue_of(*node)), &give_up_waiting);
      } catch (const Cancelled&) {
        forget_interrupt();  // it has been noticed
        throw;
      }
    });
    queues.taken(node) = point.state;
    for (; next != takes.tensors.end() && next->node() == node; ++next)
      values.push_back(point.values[static_cast<std::size_t>(next->output())]);
  }
}

std::shared_ptr<Plan> SessionState::plan_for(const Signature& s, const Caller& caller) {
  const RunKey key = key_of(s);
  const auto at = std::ranges::find_if(cache, [&](const Cached& c) { return c.key == key; });
  if (at != cache.end() && at->plan->generation() == generation()) {
    cache.splice(cache.begin(), cache, at);
    return at->plan;
  }
  if (at != cache.end()) cache.erase(at);
  std::shared_ptr<Plan> plan = compile(s, caller);
  cache.push_front({key, plan});
  while (cache.size() > plans_kept()) cache.pop_back();
  return plan;
}

// At the same time as runs of companions, unless the layout of a variable has to change: then all of them have to wait.
std::shared_ptr<Plan> SessionState::compile(const Signature& s, const Caller& caller) {
  const auto plan = [&] { return naming_the_caller(caller, [&] { return program_for(s).plan(s.fed); }); };
  if (gate() == nullptr) return plan();
  const GateVisit turn(companions_gate(), cancelled);
  check_not_cancelled(caller);
  try {
    const GateVisit inside(gate(), cancelled);
    check_not_cancelled(caller);
    const MutexLock lock(commons->compiling);
    const Variables::InUse in_use(variables);
    return plan();
  } catch (const VariableMemory::VariablesAreInUse&) {
    const GateAlone alone(gate(), cancelled);
    check_not_cancelled(caller);
    return plan();
  }
}

void SessionState::check_complete(const Signature& s, const Caller& caller) {
  naming_the_caller(caller, [&] { program_for(s); });
}

Program& SessionState::program_for(const Signature& s) {
  Signature unshaped = s;
  unshaped.fed.clear();
  const RunKey key = key_of(unshaped);
  const auto at = std::ranges::find(programs, key, &Known::key);
  if (at != programs.end()) {
    programs.splice(programs.begin(), programs, at);
  } else {
    graph.mark_compiled();
    programs.push_front({key, std::make_shared<Program>(unshaped, target, static_cast<int>(plans_kept()))});
    while (programs.size() > plans_kept()) programs.pop_back();
  }
  return *programs.front().program;
}

void SessionState::check_initialized(const Plan& plan, const Caller& caller) const {
  if (std::ranges::all_of(plan.variables_ready(), [](const bool* ready) { return *ready; })) return;
  std::vector<const Node*> empty;
  for (std::size_t i = 0; i < plan.variables().size(); ++i)
    if (!*plan.variables_ready()[i]) empty.push_back(plan.variables()[i]);
  std::string others;
  constexpr std::size_t kNamed = 5;
  for (std::size_t i = 1; i < std::min(empty.size(), kNamed); ++i)
    others += fmt::format("{} '{}'", i == 1 ? " Others without one:" : ",", empty[i]->name);
  if (empty.size() > kNamed) others += fmt::format(" and {} more", empty.size() - kNamed);
  fail(
      "[Variable '{}'] expected a value before it is read, got none {} {}. Call session.initialize() or load a "
      "checkpoint first.{}",
      empty[0]->name, made_at(*empty[0]), called_at(caller), others.empty() ? "" : others + ".");
}

// A cancel() at the same time is not lost: it sets `cancelled` first.
void SessionState::forget_interrupt() {
  give_up_waiting = false;
  if (cancelled) give_up_waiting = true;
}

void SessionState::check_not_cancelled(const Caller& caller) const {
  if (cancelled)
    fail<Cancelled>("[{}] expected a session that may run, got one that was cancelled {}.", caller.name,
                    called_at(caller));
}

bool SessionState::execute(Plan& plan, std::optional<std::uint64_t> step, const std::vector<const void*>& feeds,
                           std::vector<void*>& results, LateResults late, TakenPoints& points, const Caller& caller) {
  const GateVisit turn(companions_gate(), cancelled);
  check_not_cancelled(caller);
  const bool alone = plan.in_parts();  // several parts share no snapshots
  const GateAlone only(alone ? gate() : nullptr, cancelled);
  const GateVisit inside(alone ? nullptr : gate(), cancelled);
  check_not_cancelled(caller);
  return execute_inside(plan, step, feeds, results, late, points, caller);
}

bool SessionState::execute_inside(Plan& plan, std::optional<std::uint64_t> step, const std::vector<const void*>& feeds,
                                  std::vector<void*>& results, LateResults late, TakenPoints& points,
                                  const Caller& caller) {
  if (plan.generation() != generation()) return false;
  check_initialized(plan, caller);
  points.use();
  constexpr std::uint64_t kOwnSequence = std::uint64_t{1} << 63;
  const Step now{.number = step ? *step : (random_counter++ | kOwnSequence), .seed = graph.seed()};
  run_stage(plan, now, feeds, results, caller);
  for (Plan* stage = &plan; stage->continues();) {
    stage = naming_the_caller(caller, [&] { return &stage->next(); });
    check_initialized(*stage, caller);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (const std::optional<TensorInfo>& info = stage->fetched()[i]) results[i] = late(i, *info);
    run_stage(*stage, now, feeds, results, caller);
  }
  spins.observe();
  return true;
}

void SessionState::run_stage(Plan& plan, const Step& step, const std::vector<const void*>& feeds,
                             const std::vector<void*>& results, const Caller& caller) {
  if (gate() != nullptr && plan.in_parts())  // such a plan has no kernels that tell companions
    for (const Node* variable : plan.assigned()) variables.of(variable).changed(variable);
  naming_the_caller(caller, [&] { plan.run(step, feeds, results, team, profiler.get()); });
  for (bool* ready : plan.assigned_ready())
    if (!*ready) *ready = true;  // companions may be reading it
}

}  // namespace belfry
