#include "belfry/tower/internal/tower_rules.h"

#include <algorithm>
#include <optional>
#include <set>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/basic.h"
#include "belfry/tower/tower_context.h"

namespace belfry {
namespace {

constexpr std::string_view kReserved = "tower";

std::set<std::string> trainables(const TowerTensorHandle& tower) {
  std::set<std::string> out;
  for (const Variable& v : tower.trainable_variables()) out.insert(tower.local_name(v));
  return out;
}

std::string quoted(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += fmt::format("{}'{}'", out.empty() ? "" : ", ", name);
  return out.empty() ? "none" : out;
}

std::set<std::string> without(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::set<std::string> out;
  std::ranges::set_difference(a, b, std::inserter(out, out.end()));
  return out;
}

// Rule 1, for two calls of a tower function: what only one of them has, "" if they agree.
std::string difference(const std::set<std::string>& first, const std::set<std::string>& second,
                       std::string_view in_first, std::string_view in_second) {
  const std::set<std::string> missing = without(first, second), extra = without(second, first);
  std::string out = missing.empty() ? "" : fmt::format("{} only {}", quoted(missing), in_first);
  if (!extra.empty()) out += fmt::format("{}{} only {}", out.empty() ? "" : " and ", quoted(extra), in_second);
  return out;
}

constexpr std::string_view kRule1 =
    "(rule 1). It must do the same each time that it is called: the names of variables must not depend on the tower, "
    "on a count, or on what it did before";

void check_same_in_towers(const TowerTensorHandle& first, const TowerTensorHandle& now) {
  const std::string in_first = fmt::format("in '{}'", first.name()), in_now = fmt::format("in '{}'", now.name());
  const std::string found = difference(trainables(first), trainables(now), in_first, in_now);
  BELFRY_CHECK(found.empty(),
               "[tower '{}'] expected a tower function that makes the same trainable variables as in the first tower, "
               "got {} {}.",
               now.name(), found, kRule1);
}

// For calls that were made only for this check.
void check_same_in_calls(const std::set<std::string>& first, const std::set<std::string>& second) {
  const std::string found = difference(first, second, "in the first call", "in the second");
  BELFRY_CHECK(found.empty(),
               "[tower function] expected the same trainable variables from two calls, because it is called for every "
               "tower and for inference, got {} {}.",
               found, kRule1);
}

// A name without the tower's own prefix: that of its ops, or that of its variables, which may be another tower's.
std::string_view within_tower(std::string_view name, const TowerTensorHandle& tower) {
  for (const std::string* scope : {&tower.name(), &tower.variable_scope()})
    if (!scope->empty() && name.starts_with(*scope + "/")) return name.substr(scope->size() + 1);
  return name;
}

bool is_model_variable(const Variable& v) {
  return v.node()->graph->collections().contains(collection::kModelVariables, v);
}

bool uses(const TowerTensorHandle& tower, const Variable& v) {
  return std::ranges::find(tower.variables(), v) != tower.variables().end();
}

// Rule 2, for what inference shares with training; each variable is named once, however many inference towers use it.
void warn_of_state(const TowerTensorHandle& tower, const TowerTensorHandle& training,
                   const std::vector<TowerTensorHandle>& before) {
  std::set<std::string> names;
  for (const Variable& v : tower.variables()) {
    if (v.trainable() || is_model_variable(v) || !uses(training, v)) continue;
    const auto named = [&](const TowerTensorHandle& t) { return !t.is_training() && uses(t, v); };
    if (std::ranges::none_of(before, named)) names.insert(v.name());
  }
  if (names.empty()) return;
  const bool one = names.size() == 1;
  log_warning(
      fmt::format("[tower '{}'] inference uses {}, which {} neither trainable nor {} of MODEL_VARIABLES (rule 2): an "
                  "exported model will lack {}.",
                  tower.name(), quoted(names), one ? "is" : "are", one ? "one" : "part", one ? "it" : "them"));
}

}  // namespace

ReuseWatch::ReuseWatch(const TowerContext& tower) : tower_(tower.name()) {
  for (const OpenedVariableScope* s = &get_variable_scope(); s != nullptr; s = s->parent().get())
    open_.emplace_back(s, s->reuse());
}

void ReuseWatch::check() const {
  for (const auto& [scope, reuse] : open_)
    BELFRY_CHECK(scope->reuse() == reuse,
                 "[tower '{}'] expected the reuse of variable scope '{}' to stay unchanged, got it changed (rule 4). A "
                 "tower function may set the reuse of scopes that it opens itself: VariableScope scope(\"name\", "
                 "{{.reuse = Reuse::yes}}).",
                 tower_, scope->name());
}

TowerTrail::TowerTrail() : nodes_before_(current_graph().nodes().size()) {}

void TowerTrail::check_names(const TowerTensorHandle& tower) const {
  const auto nodes = current_graph().nodes();
  for (std::size_t i = nodes_before_; i < nodes.size(); ++i) {
    const std::string_view name = within_tower(nodes[i]->name, tower);
    const bool variable = nodes[i]->def->variable;
    const std::size_t slash = name.rfind('/');
    const std::string_view scope = slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
    if ((variable ? name : scope).find(kReserved) == std::string_view::npos) continue;
    fail(
        "[tower '{}'] expected no {} with the word '{}' in its name, got '{}' {} (rule 5). The word marks the towers "
        "themselves: choose another name.",
        tower.name(), variable ? "variable" : "scope", kReserved, variable ? name : scope, made_at(*nodes[i]));
  }
}

void check_variables(const TowerTensorHandle& tower, const std::vector<TowerTensorHandle>& before) {
  const auto first = std::ranges::find_if(before, &TowerTensorHandle::is_training);
  if (first == before.end()) return;
  if (tower.is_training()) return check_same_in_towers(*first, tower);
  const std::set<std::string> made = without(trainables(tower), trainables(*first));
  BELFRY_CHECK(made.empty(),
               "[tower '{}'] expected an inference tower to use trainable variables of the training towers, got {} of "
               "its own (rule 1). Make them in training too, or make them not trainable.",
               tower.name(), quoted(made));
  warn_of_state(tower, *first, before);
}

namespace {

// The trainables of one call on the scratch graph.
class ScratchCall {
 public:
  ScratchCall(const std::function<Tensors(const Inputs&)>& function, const std::vector<TensorSpec>& signature,
              std::string_view name, TowerOptions options) {
    const TrainTowerContext tower(name, std::move(options));
    Tensors inputs;
    for (const TensorSpec& spec : signature) inputs.push_back(placeholder(spec.dtype, spec.shape));
    const Inputs named(signature, inputs);
    Tensors outputs = function(named);
    for (const Variable& v : tower.trainable_variables()) variables.insert(v.name());
  }
  std::set<std::string> variables;
};

// Rule 3: the names of a tower with the variable scope `prefix`, against those of one without.
void check_prefix(const std::set<std::string>& plain, const std::set<std::string>& prefixed, const std::string& prefix,
                  const std::string& tower) {
  std::set<std::string> local;
  for (const std::string& name : prefixed) {
    const std::size_t again = name.find(prefix, prefix.size());
    BELFRY_CHECK(name.starts_with(prefix) && again == std::string::npos,
                 "[tower '{}'] expected a trainable variable whose name begins with the enclosing variable scope, '{}' "
                 "say, and contains it once, got '{}' (rule 3). Use get_variable() with a fixed name, not one made "
                 "from a tensor's or a scope's name.",
                 tower, prefix, name);
    local.insert(name.substr(prefix.size()));
  }
  check_same_in_calls(plain, local);
}

// It lives as long as the real graph, which is current.
Graph& new_scratch_graph() {
  auto owned = std::make_unique<Graph>();
  Graph& scratch = *owned;
  scratch.mark_scratch({.made_in = "in a call of the tower function that only checks its rules, on a separate graph",
                        .remedy = "Let the function assign what it keeps again in each call with "
                                  "get_current_tower_context().is_training(), instead of adding to a list or keeping "
                                  "what is already set; or turn these calls off: .check_tower_rules = false."});
  current_graph().outermost().keep(std::move(owned));
  return scratch;
}

}  // namespace

void check_on_scratch_graph(const std::function<Tensors(const Inputs&)>& function,
                            const std::vector<TensorSpec>& signature, const std::string& tower) {
  Graph& scratch = new_scratch_graph();
  std::optional<ScratchCall> first, own, shared;
  try {
    const TowerPause pause;  // the real tower is open
    const LogMute mute;
    const GraphScope scope(scratch);
    first.emplace(function, signature, "", TowerOptions{});
    own.emplace(function, signature, "replica1", TowerOptions{.index = 1, .total = 3, .variable_scope = "replica1"});
    shared.emplace(function, signature, "replica2", TowerOptions{.index = 2, .total = 3, .reuse = Reuse::automatic});
  } catch (const std::exception& error) {
    log_info(
        fmt::format("[tower '{}'] rules 1, 3 and 4 of tower functions were not checked in advance, because the "
                    "function cannot be called on a separate graph: {}",
                    tower, error.what()));
    return;
  }
  check_prefix(first->variables, own->variables, "replica1/", tower);
  const std::set<std::string> extra = without(shared->variables, first->variables);
  BELFRY_CHECK(extra.empty(),
               "[tower '{}'] expected a second call under reuse to find its trainable variables, got {} as new ones "
               "(rule 4). Use get_variable() and leave reuse to the scope.",
               tower, quoted(extra));
}

}  // namespace belfry
