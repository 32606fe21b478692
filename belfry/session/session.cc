#include "belfry/session/session.h"

#include <algorithm>
#include <set>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/ancestors.h"
#include "belfry/graph/internal/initialization.h"
#include "belfry/session/internal/session_state.h"

namespace belfry {
namespace {

// The plan of a run and its feeds' data.
struct PreparedRun {
  Signature signature;
  std::shared_ptr<Plan> plan;
  std::vector<int> places;  // by fetch: its index among the plan's results, or kNone
  std::vector<const void*> feeds;
  std::vector<Array> taken;
  std::unique_ptr<TakenPoints> points = std::make_unique<TakenPoints>();
};

void add_feed(Signature& signature, DType dtype, const Shape& shape) { signature.fed.push_back({"", dtype, shape}); }

// Without taking any point: what a run would take has the shape that the queue was declared with.
void assume_points(const Takes& takes, Signature& signature, const Caller& caller) {
  for (const Tensor& tensor : takes.tensors) {
    BELFRY_CHECK(tensor.shape().is_concrete(),
                 "[{}] expected to know the shape of '{}', which a run takes from a queue, got {} {} {}. Feed it an "
                 "array of the shape that you want.",
                 caller.name, tensor.name(), to_string(tensor.shape()), made_at(*tensor.node()), called_at(caller));
    add_feed(signature, tensor.dtype(), tensor.shape());
  }
}

PreparedRun prepare(SessionState& state, const std::vector<Fetch>& fetches, const Feeds& feeds, const Caller& caller,
                    bool take = true) {
  PreparedRun out;
  std::vector<Tensor> fed;
  for (const auto& [tensor, value] : feeds) fed.push_back(tensor);
  Signature signature = state.signature(fetches, fed, caller, &out.places);
  const Takes& takes = state.takes_of(signature);
  for (const auto& [tensor, value] : feeds) {
    state.check_feed(tensor, value, caller);
    add_feed(signature, value.dtype(), value.shape());
    out.feeds.push_back(value.raw());
  }
  if (take) {
    state.take(signature, takes, *out.points, out.taken, caller);
    for (const Array& value : out.taken) {
      add_feed(signature, value.dtype(), value.shape());
      out.feeds.push_back(value.raw());
    }
  } else {
    assume_points(takes, signature, caller);
  }
  signature.feeds.insert(signature.feeds.end(), takes.tensors.begin(), takes.tensors.end());
  out.plan = state.plan_for(signature, caller);
  out.signature = std::move(signature);
  return out;
}

// Every placeholder that the fetches need.
std::vector<Tensor> placeholders_of(const std::vector<Fetch>& fetches, const Graph& graph, const Caller& caller) {
  std::vector<Node*> wanted;
  for (const Fetch& fetch : fetches) {
    const FetchTarget target = target_of(fetch, graph, caller);
    if (Node* node = target.operation ? target.operation.node() : target.tensor.node(); node != nullptr)
      wanted.push_back(node);
  }
  std::vector<Tensor> out;
  for (const Node* node : with_ancestors(wanted))
    if (node->def->must_be_fed) out.push_back(graph.nodes()[static_cast<std::size_t>(node->id)]->output());
  return out;
}

Shape with_batch(const Tensor& tensor, std::int64_t batch, const Caller& caller) {
  Shape shape = tensor.shape();
  if (shape.rank() > 0 && shape[0] == kAny) shape.set(0, batch);
  BELFRY_CHECK(shape.is_concrete(),
               "[{}] expected to know the shape of '{}' except for its batch, got {} {} {}. Use explain() and feed it "
               "an array of the shape that you want.",
               caller.name, tensor.name(), to_string(tensor.shape()), made_at(*tensor.node()), called_at(caller));
  return shape;
}

}  // namespace

SessionConfig::~SessionConfig() = default;

Session::Session(Graph& graph, SessionConfig config, const Location& where)
    : Session(std::make_unique<SessionState>(graph, config, std::make_shared<SessionCommons>(config),
                                             Caller{"Session", where})) {
  for (const auto& [kind, backend] : state_->backends)
    if (const std::string warning = backend->warning(); !warning.empty()) log_warning(warning);
}
Session::Session(std::unique_ptr<SessionState> state) : state_(std::move(state)) {}
Session::~Session() = default;
Graph& Session::graph() { return state_->graph; }

void Session::initialize(bool again, const Location& where) {
  for (std::vector<Variable>& variables : initialization_order(state_->graph)) {
    if (!again) std::erase_if(variables, [this](const Variable& v) { return is_initialized(v); });
    if (variables.empty()) continue;
    std::vector<Fetch> values;
    for (const Variable& v : variables) values.emplace_back(v.initial_value());
    const std::vector<Array> initial = run(values, {}, {.random_step = 0}, where);
    for (std::size_t i = 0; i < variables.size(); ++i) set_value(variables[i], initial[i], where);
  }
}

std::vector<Array> Session::run(const std::vector<Fetch>& fetches, const Feeds& feeds, const RunOptions& options,
                                const Location& where) {
  const Caller caller{"Session::run", where};
  const SessionUse use(state_->user, caller);
  PreparedRun run = prepare(*state_, fetches, feeds, caller);
  std::vector<Array> values(run.plan->fetched().size());
  std::vector<void*> results(values.size(), nullptr);
  const auto place = [&](std::size_t i, const TensorInfo& info) {
    values[i] = Array(info.dtype, info.shape);
    return values[i].raw();
  };
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const std::optional<TensorInfo>& info = run.plan->fetched()[i]) results[i] = place(i, *info);
  while (!state_->execute(*run.plan, options.random_step, run.feeds, results, place, *run.points, caller))
    run.plan = state_->plan_for(run.signature, caller);
  std::vector<Array> out;
  for (int place : run.places) out.push_back(place == kNone ? Array() : values[static_cast<std::size_t>(place)]);
  return out;
}

Array Session::run(const Fetch& fetch, const Feeds& feeds, const RunOptions& options, const Location& where) {
  return run(std::vector<Fetch>{fetch}, feeds, options, where)[0];
}

Array Session::value(const Variable& variable, const Location& where) const {
  const Caller caller{"Session::value", where};
  const SessionUse use(state_->user, caller);
  state_->check_variable(variable, caller);
  BELFRY_CHECK(
      is_initialized(variable),
      "[Variable '{}'] expected a value, got none {} {}. Call session.initialize() or load a checkpoint first.",
      variable.name(), made_at(*variable.node()), called_at(caller));
  const GateVisit visit(state_->gate(), state_->cancelled);
  if (!visit.inside()) state_->check_not_cancelled(caller);
  return state_->variables.get(variable.node());
}

void Session::set_value(const Variable& variable, const Array& value, const Location& where) {
  const Caller caller{"Session::set_value", where};
  const SessionUse use(state_->user, caller);
  state_->check_variable(variable, caller);
  // A number may be written as 1e-4 where the variable is f32.
  const bool number = value.shape().rank() == 0 && is_float(value.dtype()) && is_float(variable.dtype());
  const bool fits = value.shape() == variable.shape() && (number || value.dtype() == variable.dtype());
  BELFRY_CHECK(fits, "[Session::set_value] expected {} {} for '{}', got {} {} {} {}.", name_of(variable.dtype()),
               to_string(variable.shape()), variable.name(), name_of(value.dtype()), to_string(value.shape()),
               made_at(*variable.node()), called_at(caller));
  const GateVisit visit(state_->gate(), state_->cancelled);
  if (!visit.inside()) state_->check_not_cancelled(caller);
  state_->variables.set(variable.node(), number ? value.cast(variable.dtype()) : value);
}

std::shared_ptr<DataQueue> Session::queue(const PointStore& queue, const Location& where) const {
  state_->check_own(Operation(queue.node()), "a queue", {"Session::queue", where});
  return state_->queues.of(queue.node());
}

std::vector<std::shared_ptr<DataQueue>> Session::queues_of(const Tensors& tensors, const Location& where) const {
  const Caller caller{"Session::queues_of", where};
  const SessionUse use(state_->user, caller);
  std::vector<int> places;
  const Signature signature = state_->signature({tensors.begin(), tensors.end()}, {}, caller, &places);
  std::vector<std::shared_ptr<DataQueue>> out;
  for (const Node* take : state_->takes_of(signature).nodes)
    if (auto queue = state_->queues.of(queue_of(*take)); std::ranges::find(out, queue) == out.end())
      out.push_back(std::move(queue));
  return out;
}

std::shared_ptr<const void> Session::taken_state(const Tensor& taken, const Location& where) const {
  const Caller caller{"Session::taken_state", where};
  const SessionUse use(state_->user, caller);
  state_->check_own(taken, "a taken tensor", caller);
  BELFRY_CHECK(taken.node()->def->taken,
               "[Session::taken_state] expected the result of a dequeue() or get() of the session's graph, got {} {}.",
               to_string(taken), called_at(caller));
  return state_->queues.find_taken(taken.node());
}

bool Session::is_initialized(const Variable& variable) const {
  return state_->variables.is_initialized(variable.node());
}

std::vector<std::string> Session::device_texts() const {
  std::vector<std::string> out;
  for (const DeviceInfo& info : state_->team.devices())
    out.push_back(fmt::format("{} ({} thread{})", info.name.name(), info.threads, info.threads == 1 ? "" : "s"));
  return out;
}

std::unique_ptr<Session> Session::companion(const Device& device, const Location& where) {
  const Caller caller{"Session::companion", where};
  const SessionUse use(state_->user, caller);
  Devices devices;
  for (const DeviceInfo& info : state_->team.devices()) devices.push_back(info.name);
  const auto at = device.empty() ? devices.begin() : std::ranges::find(devices, device);
  BELFRY_CHECK(at != devices.end(), "[Session::companion] expected a device of the session ({}), got {} {}.",
               to_string(devices), device.name(), called_at(caller));
  BELFRY_CHECK(at->kind() == state_->variables.first_kind(),
               "[Session::companion] expected a device of the kind that the variables live on ({}), got {} {}. Train "
               "towers on different kinds of devices synchronously.",
               state_->variables.first_kind(), at->name(), called_at(caller));
  if (!state_->commons->shared) {
    state_->commons->shared = true;
    state_->variables.share();
    state_->programs.clear();  // they were made for variables of one session
  }
  SessionConfig config = state_->config;
  config.devices = {
      {.threads = state_->team.devices()[static_cast<std::size_t>(at - devices.begin())].threads, .kind = at->kind()}};
  auto state = std::make_unique<SessionState>(state_->graph, config, state_->commons, caller);
  state->is_companion = true;
  return std::unique_ptr<Session>(new Session(std::move(state)));
}

void Session::cancel() {
  state_->cancelled = true;
  state_->give_up_waiting = true;
  state_->commons->gate.wake();
  state_->commons->companions.wake();
  state_->queues.wake();
}

void Session::interrupt() {
  state_->give_up_waiting = true;
  state_->queues.wake();
}

void Session::forget_interrupt() { state_->forget_interrupt(); }

SessionAlone::SessionAlone(Session& session, const Location& where) {
  SessionState& state = *session.state_;
  alone_ = std::make_unique<GateAlone>(state.gate(), state.cancelled);
  if (!alone_->inside()) state.check_not_cancelled({"SessionAlone", where});
}
SessionAlone::~SessionAlone() = default;

CompanionsRest::CompanionsRest(Session& session, const Location& where) {
  SessionState& state = *session.state_;
  alone_ = std::make_unique<GateAlone>(&state.commons->companions, state.cancelled);
  if (!alone_->inside()) state.check_not_cancelled({"CompanionsRest", where});
}
CompanionsRest::~CompanionsRest() = default;

void Session::set_random_counter(std::uint64_t count) { state_->random_counter = count; }
std::uint64_t Session::random_counter() const { return state_->random_counter; }

std::map<std::string, std::string> Session::algorithms() const {
  std::map<std::string, std::string> out;
  for (const auto& [kind, backend] : state_->backends) out.merge(backend->algorithms());
  return out;
}

void Session::set_algorithms(const std::map<std::string, std::string>& choices) {
  if (choices.empty()) return;
  bool taken = false;
  for (const auto& [kind, backend] : state_->backends) taken |= backend->restore_algorithms(choices);
  if (!taken)
    log_warning(
        fmt::format("[autotune] expected a session with autotune for {} restored choices, got one without. It follows "
                    "the fixed rule, and its results may differ in their last bits. Set SessionConfig::autotune.",
                    choices.size()));
}

int Session::cached_plans() const { return static_cast<int>(state_->cache.size()); }

std::string Session::explain(const std::vector<Fetch>& fetches, const Feeds& feeds, const Location& where) {
  const Caller caller{"Session::explain", where};
  const SessionUse use(state_->user, caller);
  return prepare(*state_, fetches, feeds, caller, false).plan->explain();
}

std::string Session::explain_batch(const std::vector<Fetch>& fetches, std::int64_t batch, const Location& where) {
  const Caller caller{"Session::explain_batch", where};
  BELFRY_CHECK(batch >= 1, "[{}] expected a batch of 1 or more, got {} {}.", caller.name, batch, called_at(caller));
  const SessionUse use(state_->user, caller);
  std::vector<Tensor> given = placeholders_of(fetches, state_->graph, caller);
  std::vector<int> places;
  Signature signature = state_->signature(fetches, given, caller, &places);
  const Takes& takes = state_->takes_of(signature);
  given.insert(given.end(), takes.tensors.begin(), takes.tensors.end());
  for (const Tensor& tensor : given) add_feed(signature, tensor.dtype(), with_batch(tensor, batch, caller));
  signature.feeds = std::move(given);
  return state_->plan_for(signature, caller)->explain();
}

SessionMemory Session::memory() const {
  std::set<const CompiledPart*> parts;
  for (const SessionState::Known& known : state_->programs) known.program->collect_kept(parts);
  for (const SessionState::Cached& cached : state_->cache)
    for (const auto& part : cached.plan->parts()) parts.insert(part.get());
  MemoryUse held;
  add_held_by(parts, held);
  const VariableMemory::Bytes variables = state_->variables.bytes();
  SessionMemory out{.crossings = state_->crossings.bytes(),
                    .kernels = held.kernels,
                    .constants = held.constants,
                    .variables = variables.value,
                    .copies = variables.copies};
  for (const auto& [kind, backend] : state_->backends) {
    const Backend::Memory memory = backend->memory();
    out.arena += memory.arena;
    out.crossings += memory.crossings;
    out.snapshots += memory.snapshots;
  }
  return out;
}

std::size_t Session::arena_bytes() const {
  const SessionMemory held = memory();
  return held.arena + held.crossings + held.kernels;
}

std::vector<ProfileTotal> Session::profile_totals() const {
  std::vector<ProfileTotal> out;
  if (state_->profiler)
    for (const Profiler::Total& t : state_->profiler->totals())
      out.push_back({t.op, static_cast<double>(t.nanoseconds) * 1e-9, t.in_library});
  return out;
}

void Session::clear_profile() {
  if (state_->profiler) state_->profiler->clear();
}

void Session::write_trace(const std::string& path) const {
  BELFRY_CHECK(state_->profiler != nullptr,
               "[write_trace] expected a session with a profiler, got one without. Set SessionConfig::profile.");
  state_->profiler->write(path);
}

}  // namespace belfry
