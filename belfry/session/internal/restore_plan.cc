#include "belfry/session/internal/restore_plan.h"

#include <algorithm>
#include <set>

#include "belfry/base/check.h"
#include "belfry/base/internal/nearest.h"
#include "belfry/base/internal/quotes.h"
#include "belfry/base/name_expression.h"
#include "belfry/graph/collections.h"
#include "belfry/graph/graph.h"
#include "belfry/session/internal/name_lists.h"
#include "belfry/session/internal/variable_values.h"
#include "belfry/session/internal/weight_mapping.h"

namespace belfry {
namespace {

using NameSet = std::set<std::string>;
constexpr const char* kStep = "global_step";

class Matching {
 public:
  Matching(const std::string& caller, Session& session, const StoredValues& stored, const RestoreOptions& options,
           Take take)
      : caller_(caller), session_(session), stored_(stored), options_(options), take_(take) {
    const Graph& graph = session.graph();
    for (const Variable& v : graph.collections().variables(collection::kGlobalVariables))
      variables_.emplace(v.name(), v);
    for (const Variable& v : model_variables(graph)) model_.insert(v.name());
    if (stored.state)
      for (const std::string& name : stored.state->model) stored_model_.insert(renamed(name));
    for (const auto& [name, value] : options.prefer.empty() ? stored.values : preferred())
      values_.emplace(renamed(name), value);
  }

  InitPlan plan() {
    BELFRY_CHECK(take_ == Take::everything || !model_.empty(),
                 "[{}] expected a graph with trainable variables or MODEL_VARIABLES, got none. Build the model first; "
                 "ContinueRun and DictRestore take other variables too.",
                 caller_);
    plan_.strict = options_.strict;
    const NameSet ignored = matched_by_ignore();
    plan_.report.ignored.assign(ignored.begin(), ignored.end());
    for (const auto& [name, value] : values_)
      if (!ignored.contains(name)) place(name, value);
    for (const auto& [name, variable] : variables_)
      if (is_taken(name) && !values_.contains(name) && !ignored.contains(name)) plan_.report.missing.push_back(name);
    note_mismatched();
    if (take_ == Take::model) note_of_the_run();
    return std::move(plan_);
  }

 private:
  std::string renamed(const std::string& name) const {
    return options_.prefix.empty() ? name : fmt::format("{}/{}", options_.prefix, name);
  }

  // "w" with the value of "w/EMA" where both are there. "w/EMA" itself is dropped, unless it is a variable's name.
  std::map<std::string, Array> preferred() const {
    std::map<std::string, Array> out = stored_.values;
    for (const auto& [name, value] : stored_.values) {
      const std::string alternative = name + "/" + options_.prefer;
      const auto at = stored_.values.find(alternative);
      if (at == stored_.values.end()) continue;
      out.at(name) = at->second;
      if (!variables_.contains(renamed(alternative))) out.erase(alternative);
    }
    return out;
  }

  bool is_taken(const std::string& name) const { return take_ == Take::everything || model_.contains(name); }

  // Whether it belongs to the run that saved it, not to its model; unknown for files that do not tell.
  bool is_of_the_run(const std::string& name) const {
    if (take_ == Take::everything) return false;
    return variables_.contains(name) || (!stored_model_.empty() && !stored_model_.contains(name));
  }

  void place(const std::string& name, const Array& value) {
    const auto at = variables_.find(name);
    if (at != variables_.end() && is_taken(name)) {
      if (options_.skip_mismatched && value.shape() != at->second.shape()) {
        plan_.report.mismatched.push_back(name);
      } else {
        plan_.values.emplace_back(at->second, value);
        plan_.report.restored.push_back(name);
      }
    } else {
      (is_of_the_run(name) ? plan_.report.of_the_run : plan_.report.unexpected).push_back(name);
    }
  }

  NameSet matched_by_ignore() const {
    NameSet all, out;
    for (const auto& [name, variable] : variables_) all.insert(name);
    for (const auto& [name, value] : values_) all.insert(name);
    if (stored_.state) all.insert(kStep);
    for (const std::string& text : options_.ignore) {
      const NameExpression expression(caller_, text);
      bool any = false;
      for (const std::string& name : all) {
        if (!expression.matches(name)) continue;
        any = true;
        out.insert(name);
      }
      if (any) continue;
      const Names names(all.begin(), all.end());
      const std::string near = did_you_mean(text, names);
      fail(
          "[{}] expected .ignore to match variables, got \"{}\", which matches none of {}.{} An expression has to "
          "match "
          "a whole name.",
          caller_, text, some_of(names), near);
    }
    return out;
  }

  void note_mismatched() {
    if (plan_.report.mismatched.empty()) return;
    std::string list;
    for (const std::string& name : plan_.report.mismatched)
      list += fmt::format("{}{} ({} there, {} here)", list.empty() ? "" : ", ", in_quotes(name),
                          to_string(values_.at(name).shape()), to_string(variables_.at(name).shape()));
    plan_.notes.push_back(fmt::format("[{}] {} variables keep their values, because their shapes differ: {}", caller_,
                                      plan_.report.mismatched.size(), list));
  }

  // 'learning_rate' (0 there, stays 0.001)
  std::string single(const std::string& name) const {
    const Array& value = values_.at(name);
    if (value.shape().rank() != 0) return in_quotes(name);
    const auto here = variables_.find(name);
    const bool stays = here != variables_.end() && session_.is_initialized(here->second);
    return fmt::format("{} ({:.6g} there{})", in_quotes(name), value.item(),
                       stays ? fmt::format(", stays {:.6g}", session_.value(here->second).item()) : "");
  }

  // Of a slot, what follows the name of its variable: "Adam/m". Of others, "".
  std::string slot_of(const std::string& name) const {
    for (std::size_t slash = name.rfind('/'); slash != std::string::npos && slash > 0;
         slash = name.rfind('/', slash - 1)) {
      const std::string owner = name.substr(0, slash);
      if (stored_model_.contains(owner) || model_.contains(owner)) return name.substr(slash + 1);
    }
    return "";
  }

  void note_of_the_run() {
    constexpr std::size_t kNamed = 10;
    std::map<std::string, int> slots;
    Names singles;
    for (const std::string& name : plan_.report.of_the_run) {
      const std::string slot = slot_of(name);
      if (slot.empty())
        singles.push_back(single(name));
      else
        ++slots[slot];
    }
    if (stored_.state && !values_.contains(kStep))
      singles.push_back(fmt::format("'{}' ({} there)", kStep, stored_.state->step));
    if (slots.empty() && singles.empty()) return;
    std::string list;
    for (const auto& [slot, count] : slots) list += fmt::format("{}{} x {}", list.empty() ? "" : ", ", count, slot);
    for (std::size_t i = 0; i < std::min(kNamed, singles.size()); ++i)
      list += fmt::format("{}{}", list.empty() ? "" : ", ", singles[i]);
    if (singles.size() > kNamed) list += fmt::format(" and {} more", singles.size() - kNamed);
    plan_.notes.push_back(
        fmt::format("[{}] did not take what belongs only to the run that saved it: {}. ContinueRun takes everything.",
                    caller_, list));
  }

  const std::string& caller_;
  Session& session_;
  const StoredValues& stored_;
  const RestoreOptions& options_;
  Take take_;
  std::map<std::string, Variable> variables_;
  NameSet model_, stored_model_;         // of the graph, and as the checkpoint says
  std::map<std::string, Array> values_;  // by their names in this graph
  InitPlan plan_;
};

// The values by our names and in our layout.
StoredValues mapped(const std::string& caller, const Graph& graph, const StoredValues& stored,
                    const RestoreOptions& options) {
  const std::string front = options.prefix.empty() ? "" : options.prefix + "/";
  std::map<std::string, Variable> variables;
  for (const Variable& v : graph.collections().variables(collection::kGlobalVariables))
    if (v.name().starts_with(front)) variables.emplace(v.name().substr(front.size()), v);
  std::vector<NameExpression> ignored;
  for (const std::string& text : options.ignore) ignored.emplace_back(caller, text);
  const auto is_ignored = [&](const std::string& name) {
    return std::ranges::any_of(ignored, [&](const NameExpression& e) { return e.matches(front + name); });
  };
  const WeightRoles roles(graph);
  const WeightMapping mapping(caller, variables, options.names, options.layout, roles);
  StoredValues out{
      mapping.to_ours(stored.values, {.is_ignored = is_ignored, .skip_mismatched = options.skip_mismatched}),
      stored.state};
  if (out.state)
    for (std::string& name : out.state->model) name = WeightMapping::renamed(options.names, name);
  return out;
}

}  // namespace

InitPlan restore_plan(const std::string& caller, Session& session, const StoredValues& stored,
                      const RestoreOptions& options, Take take) {
  const bool is_foreign = !options.names.empty() || options.layout != WeightLayout::belfry;
  if (is_foreign) {
    const StoredValues ours = mapped(caller, session.graph(), stored, options);
    return Matching(caller, session, ours, options, take).plan();
  }
  return Matching(caller, session, stored, options, take).plan();
}

}  // namespace belfry
