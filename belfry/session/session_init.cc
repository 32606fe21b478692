#include "belfry/session/session_init.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "belfry/array/internal/stored_array.h"
#include "belfry/array/npz.h"
#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/graph/collections.h"
#include "belfry/graph/graph.h"
#include "belfry/session/checkpoint.h"
#include "belfry/session/safetensors.h"

namespace belfry {
namespace {

using Names = std::vector<std::string>;

std::string list_of(const Names& names) {
  std::string out;
  for (const std::string& name : names) out += fmt::format("{}{}", out.empty() ? "" : ", ", in_quotes(name));
  return out;
}

// A few of many.
std::string some_of(const Names& names) {
  constexpr std::size_t kNamed = 5;
  if (names.empty()) return "none";
  if (names.size() <= kNamed) return list_of(names);
  return fmt::format("{} and {} more", list_of({names.begin(), names.begin() + kNamed}), names.size() - kNamed);
}

std::string type_of(DType dtype, const Shape& shape) { return fmt::format("{} {}", name_of(dtype), to_string(shape)); }

// One line for each kind of thing that is wrong; nothing if all is well.
std::string problems_of(const InitPlan& plan) {
  std::string out;
  for (const auto& [variable, value] : plan.values) {
    const std::string expected = type_of(variable.dtype(), variable.shape());
    const std::string got = type_of(value.dtype(), value.shape());
    if (got != expected) out += fmt::format("\n  '{}': expected {}, got {}", variable.name(), expected, got);
  }
  if (!plan.strict) return out;
  if (!plan.report.missing.empty()) out += fmt::format("\n  missing: {}", list_of(plan.report.missing));
  if (!plan.report.unexpected.empty()) out += fmt::format("\n  unexpected: {}", list_of(plan.report.unexpected));
  return out;
}

// "w" with the value of "w/EMA" where both are there. The latter's name goes too, unless it is a variable's.
std::map<std::string, Array> preferred(std::map<std::string, Array> values, const std::string& suffix,
                                       const std::map<std::string, Variable>& variables, const std::string& prefix) {
  for (auto at = values.begin(); at != values.end();) {
    const std::string alternative = at->first + "/" + suffix;
    const auto other = values.find(alternative);
    if (other == values.end()) {
      ++at;
      continue;
    }
    at->second = other->second;
    ++at;
    if (variables.contains(prefix.empty() ? alternative : prefix + "/" + alternative)) continue;
    if (at == other) ++at;
    values.erase(other);
  }
  return values;
}

// Pairs the values with the graph's variables by name.
InitPlan match(Session& session, const std::map<std::string, Array>& values, const RestoreOptions& options) {
  std::map<std::string, Variable> variables;
  for (const Variable& v : session.graph().collections().variables(collection::kGlobalVariables))
    variables.emplace(v.name(), v);
  if (!options.prefer.empty()) {
    RestoreOptions rest = options;
    rest.prefer.clear();
    return match(session, preferred(values, options.prefer, variables, options.prefix), rest);
  }
  const std::set<std::string> ignore(options.ignore.begin(), options.ignore.end());
  std::set<std::string> ignored;

  InitPlan plan{.strict = options.strict};
  for (const auto& [stored_name, value] : values) {
    const std::string name = options.prefix.empty() ? stored_name : fmt::format("{}/{}", options.prefix, stored_name);
    const auto at = variables.find(name);
    if (ignore.contains(name)) {
      ignored.insert(name);
    } else if (at == variables.end()) {
      plan.report.unexpected.push_back(name);
    } else {
      plan.values.emplace_back(at->second, value);
      plan.report.restored.push_back(name);
    }
    if (at != variables.end()) variables.erase(at);
  }
  for (const auto& [name, variable] : variables) {
    if (ignore.contains(name)) {
      ignored.insert(name);
    } else {
      plan.report.missing.push_back(name);
    }
  }
  plan.report.ignored.assign(ignored.begin(), ignored.end());
  return plan;
}

std::map<std::string, Array> without_output_numbers(std::map<std::string, Array> values, const std::string& path) {
  constexpr std::string_view kFirstOutput = ":0";
  std::map<std::string, Array> out;
  for (auto& [name, value] : values) {
    const std::string plain = name.ends_with(kFirstOutput) ? name.substr(0, name.size() - kFirstOutput.size()) : name;
    BELFRY_CHECK_AS(FileError, out.emplace(plain, std::move(value)).second,
                    "[NpzRestore '{}'] expected one value a variable, got both '{}' and '{}:0'. Remove one of them.",
                    path, plain, plain);
  }
  return out;
}

// The count of a training that is continued, not of one whose values are a part of another's.
bool takes_step(const RestoreOptions& options) {
  return options.prefix.empty() && std::ranges::find(options.ignore, "global_step") == options.ignore.end();
}

// A chain as one plan: later values replace earlier ones.
InitPlan chained(Session& session, const std::vector<SessionInit>& parts) {
  InitPlan plan;
  std::map<std::string, std::pair<Variable, Array>> values;
  std::set<std::string> missing, unexpected, ignored;
  for (const SessionInit& part : parts) {
    const InitPlan next = part.prepare(session);
    for (const auto& pair : next.values) values.insert_or_assign(pair.first.name(), pair);
    if (next.random_counter) plan.random_counter = next.random_counter;
    if (next.report.step) plan.report.step = next.report.step;
    for (const auto& [problem, algorithm] : next.algorithms) plan.algorithms.insert_or_assign(problem, algorithm);
    missing.insert(next.report.missing.begin(), next.report.missing.end());
    unexpected.insert(next.report.unexpected.begin(), next.report.unexpected.end());
    ignored.insert(next.report.ignored.begin(), next.report.ignored.end());
  }
  for (const auto& [name, pair] : values) {
    plan.values.push_back(pair);
    plan.report.restored.push_back(name);
    missing.erase(name);
    ignored.erase(name);
  }
  for (const std::string& name : ignored) missing.erase(name);
  plan.report.missing.assign(missing.begin(), missing.end());
  plan.report.unexpected.assign(unexpected.begin(), unexpected.end());
  plan.report.ignored.assign(ignored.begin(), ignored.end());
  return plan;
}

}  // namespace

SessionInit::SessionInit(std::string name, Prepare prepare, std::vector<std::string> paths)
    : name_(std::move(name)), prepare_(std::move(prepare)), paths_(std::move(paths)) {}

InitPlan SessionInit::prepare(Session& session) const {
  if (!prepare_) return {};
  InitPlan plan = prepare_(session);
  // Nothing at all that fits is the wrong file or a forgotten prefix, not another version of the model.
  const InitReport& report = plan.report;
  const bool nothing = report.restored.empty() && !report.unexpected.empty();
  BELFRY_CHECK(
      !nothing,
      "[{}] expected values for the graph's variables ({}), got none for any of them (there are values for {}). "
      "Nothing was changed. Build the graph that the values come from, or pass .prefix if the names differ by "
      "one.",
      name_, some_of(report.missing), some_of(report.unexpected));
  const std::string problems = problems_of(plan);
  BELFRY_CHECK(problems.empty(),
               "[{}] expected values that fit the graph's variables, got:{}\nNothing was changed. Build the graph that "
               "the values come from, or leave variables out with .ignore.",
               name_, problems);
  return plan;
}

namespace {

// A variable that starts as the value of another (slow weights, averages) and has none of its own there follows that
// one: it would otherwise be a copy of what the other was initialised to.
void follow_restored(const Graph& graph, InitPlan& plan) {
  std::map<const Node*, Array> restored;
  for (const auto& [variable, value] : plan.values) restored.emplace(variable.node(), value);
  for (const std::string& name : plan.report.missing) {
    const Variable variable = graph.get_variable_by_name(name);
    const auto owner = restored.find(variable.initial_value().node());
    if (owner == restored.end()) continue;
    plan.values.emplace_back(variable, owner->second);
    plan.report.restored.push_back(name);
  }
  std::erase_if(plan.report.missing, [&](const std::string& name) {
    return std::ranges::find(plan.report.restored, name) != plan.report.restored.end();
  });
  std::ranges::sort(plan.report.restored);
}

}  // namespace

InitReport SessionInit::init(Session& session, const Location& where) const {
  InitPlan plan = prepare(session);
  const SessionAlone alone(session, where);
  follow_restored(session.graph(), plan);
  session.set_algorithms(plan.algorithms);
  for (const auto& [variable, value] : plan.values) session.set_value(variable, value, where);
  if (plan.random_counter) session.set_random_counter(*plan.random_counter);
  const InitReport& report = plan.report;
  if (!report.missing.empty())
    log_warning(fmt::format("[{}] {} of the graph's variables have no value there and keep theirs: {}", name_,
                            report.missing.size(), list_of(report.missing)));
  if (!report.unexpected.empty())
    log_warning(fmt::format("[{}] {} values belong to no variable of the graph and are not used: {}", name_,
                            report.unexpected.size(), list_of(report.unexpected)));
  return std::move(plan.report);
}

SaverRestore::SaverRestore(std::string path, RestoreOptions options)
    : SessionInit(fmt::format("SaverRestore '{}'", path),
                  [path, options = std::move(options)](Session& session) {
                    const std::string file = find_checkpoint(path);
                    const SafetensorsFile stored = read_safetensors(file);
                    const auto state = checkpoint_state_in(stored.metadata, file);
                    InitPlan plan = match(session, stored.tensors, options);
                    if (state) plan.random_counter = state->random_counter;
                    if (state) plan.algorithms = state->algorithms;
                    if (state && takes_step(options)) plan.report.step = state->step;
                    return plan;
                  },
                  {path}) {}

DictRestore::DictRestore(std::map<std::string, Array> values, RestoreOptions options)
    : SessionInit("DictRestore", [values = std::move(values), options = std::move(options)](Session& session) {
        return match(session, values, options);
      }) {}

NpzRestore::NpzRestore(std::string path, RestoreOptions options)
    : SessionInit(fmt::format("NpzRestore '{}'", path),
                  [path, options = std::move(options)](Session& session) {
                    return match(session, without_output_numbers(read_npz(path), path), options);
                  },
                  {path}) {}

namespace {

std::vector<std::string> paths_of(const std::vector<SessionInit>& parts) {
  std::vector<std::string> out;
  for (const SessionInit& part : parts) out.insert(out.end(), part.paths().begin(), part.paths().end());
  return out;
}

}  // namespace

ChainInit::ChainInit(std::vector<SessionInit> parts)
    : SessionInit("ChainInit", [parts](Session& session) { return chained(session, parts); }, paths_of(parts)) {}

}  // namespace belfry
