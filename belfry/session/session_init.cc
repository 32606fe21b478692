#include "belfry/session/session_init.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "belfry/array/npz.h"
#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/graph/collections.h"
#include "belfry/graph/graph.h"
#include "belfry/session/checkpoint.h"
#include "belfry/session/internal/name_lists.h"
#include "belfry/session/internal/restore_plan.h"

namespace belfry {
namespace {

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

std::string caller_of(const char* kind, const std::string& path) { return fmt::format("{} '{}'", kind, path); }

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

// A chain as one plan: later values replace earlier ones.
InitPlan chained(Session& session, const std::vector<SessionInit>& parts) {
  InitPlan plan;
  std::map<std::string, std::pair<Variable, Array>> values;
  std::set<std::string> missing, unexpected, ignored, mismatched, of_the_run;
  for (const SessionInit& part : parts) {
    const InitPlan next = part.prepare(session);
    for (const auto& pair : next.values) values.insert_or_assign(pair.first.name(), pair);
    if (next.random_counter) plan.random_counter = next.random_counter;
    if (next.report.step) plan.report.step = next.report.step;
    if (!next.report.checkpoint.empty()) plan.report.checkpoint = next.report.checkpoint;
    if (!next.report.training.empty()) plan.report.training = next.report.training;
    plan.notes.insert(plan.notes.end(), next.notes.begin(), next.notes.end());
    for (const auto& [problem, algorithm] : next.algorithms) plan.algorithms.insert_or_assign(problem, algorithm);
    missing.insert(next.report.missing.begin(), next.report.missing.end());
    unexpected.insert(next.report.unexpected.begin(), next.report.unexpected.end());
    ignored.insert(next.report.ignored.begin(), next.report.ignored.end());
    mismatched.insert(next.report.mismatched.begin(), next.report.mismatched.end());
    of_the_run.insert(next.report.of_the_run.begin(), next.report.of_the_run.end());
  }
  for (const auto& [name, pair] : values) {
    plan.values.push_back(pair);
    plan.report.restored.push_back(name);
    for (auto* names : {&missing, &ignored, &mismatched, &of_the_run}) names->erase(name);
  }
  for (const auto* names : {&ignored, &mismatched})
    for (const std::string& name : *names) missing.erase(name);
  plan.report.missing.assign(missing.begin(), missing.end());
  plan.report.unexpected.assign(unexpected.begin(), unexpected.end());
  plan.report.ignored.assign(ignored.begin(), ignored.end());
  plan.report.mismatched.assign(mismatched.begin(), mismatched.end());
  plan.report.of_the_run.assign(of_the_run.begin(), of_the_run.end());
  return plan;
}

}  // namespace

SessionInit::SessionInit(std::string name, Prepare prepare, std::vector<std::string> continued)
    : name_(std::move(name)), prepare_(std::move(prepare)), continued_(std::move(continued)) {}

InitPlan SessionInit::prepare(Session& session) const {
  if (!prepare_) return {};
  InitPlan plan = prepare_(session);
  // Nothing at all that fits is the wrong file or a forgotten prefix, not another version of the model.
  const InitReport& report = plan.report;
  const bool nothing = report.restored.empty() && report.mismatched.empty() &&
                       (!report.unexpected.empty() || !report.of_the_run.empty());
  BELFRY_CHECK(
      !nothing,
      "[{}] expected values for the graph's variables ({}), got none for any of them (there are values for {}). "
      "Nothing was changed. Build the graph that the values come from, or pass .prefix if the names differ by "
      "one.",
      name_, some_of(report.missing), some_of(report.unexpected.empty() ? report.of_the_run : report.unexpected));
  const std::string problems = problems_of(plan);
  BELFRY_CHECK(problems.empty(),
               "[{}] expected values that fit the graph's variables, got:{}\nNothing was changed. Build the graph that "
               "the values come from, or leave variables out with .ignore or .skip_mismatched.",
               name_, problems);
  return plan;
}

namespace {

// A variable whose initial value is another one's (slow weights, averages) and that got no value itself gets what the
// other one got: it would otherwise be a copy of the other's initial value.
void follow_restored(const Graph& graph, InitPlan& plan) {
  std::map<const Node*, Array> restored;
  for (const auto& [variable, value] : plan.values) restored.emplace(variable.node(), value);
  InitReport& report = plan.report;
  for (const Variable& variable : graph.collections().variables(collection::kGlobalVariables)) {
    const auto owner = restored.find(variable.initial_value().node());
    if (owner == restored.end() || restored.contains(variable.node())) continue;
    if (std::ranges::binary_search(report.ignored, variable.name())) continue;
    plan.values.emplace_back(variable, owner->second);
    report.restored.push_back(variable.name());
    std::erase(report.missing, variable.name());
  }
  std::ranges::sort(report.restored);
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
                            report.missing.size(), by_scope(report.missing)));
  if (!report.unexpected.empty())
    log_warning(fmt::format("[{}] {} values belong to no variable of the graph and are not used: {}", name_,
                            report.unexpected.size(), by_scope(report.unexpected)));
  for (const std::string& note : plan.notes) log_info(note);
  return std::move(plan.report);
}

SaverRestore::SaverRestore(std::string path, RestoreOptions options)
    : SessionInit(caller_of("SaverRestore", path), [path, options = std::move(options)](Session& session) {
        SavedValues read = load_values(path);
        return restore_plan(caller_of("SaverRestore", path), session, {std::move(read.tensors), std::move(read.state)},
                            options, Take::model);
      }) {}

ContinueRun::ContinueRun(std::string path, RestoreOptions options)
    : SessionInit(caller_of("ContinueRun", path),
                  [path, options = std::move(options)](Session& session) {
                    Checkpoint read = load_checkpoint(path);
                    const CheckpointState& state = read.state;
                    InitPlan plan = restore_plan(caller_of("ContinueRun", path), session,
                                                 {std::move(read.tensors), state}, options, Take::everything);
                    if (!options.prefix.empty()) return plan;
                    plan.random_counter = state.random_counter;
                    plan.algorithms = state.algorithms;
                    plan.report.checkpoint = read.path;
                    plan.report.training = state.user;
                    if (!std::ranges::binary_search(plan.report.ignored, "global_step")) plan.report.step = state.step;
                    return plan;
                  },
                  {path}) {}

DictRestore::DictRestore(std::map<std::string, Array> values, RestoreOptions options)
    : SessionInit("DictRestore", [values = std::move(values), options = std::move(options)](Session& session) {
        return restore_plan("DictRestore", session, {values}, options, Take::everything);
      }) {}

NpzRestore::NpzRestore(std::string path, RestoreOptions options)
    : SessionInit(caller_of("NpzRestore", path), [path, options = std::move(options)](Session& session) {
        return restore_plan(caller_of("NpzRestore", path), session, {without_output_numbers(read_npz(path), path)},
                            options, Take::everything);
      }) {}

namespace {

std::vector<std::string> continued_by(const std::vector<SessionInit>& parts) {
  std::vector<std::string> out;
  for (const SessionInit& part : parts) out.insert(out.end(), part.continued().begin(), part.continued().end());
  return out;
}

}  // namespace

ChainInit::ChainInit(std::vector<SessionInit> parts)
    : SessionInit("ChainInit", [parts](Session& session) { return chained(session, parts); }, continued_by(parts)) {}

}  // namespace belfry
