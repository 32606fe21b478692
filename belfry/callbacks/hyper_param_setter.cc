#include "belfry/callbacks/hyper_param_setter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/base/internal/nearest.h"
#include "belfry/base/log.h"
#include "belfry/callbacks/internal/restore_state.h"
#include "belfry/loop/trainer.h"
#include "belfry/nn/hyper_param.h"

namespace belfry {

namespace {

// " Did you mean ...?", or otherwise a list of the hyper-parameters.
std::string known_instead(const Graph& graph, const std::string& wanted) {
  std::vector<std::string> all, made;
  for (const Variable& v : graph.variables()) all.push_back(v.name());
  if (const std::string nearest = did_you_mean(wanted, all); !nearest.empty()) return nearest;
  for (const Variable& v : graph.collections().variables(collection::kHyperParams)) made.push_back(v.name());
  if (made.empty()) return fmt::format(" Make it a variable: hyper_param(\"{}\", value).", wanted);
  return fmt::format(" The hyper-parameters here are '{}'.", fmt::join(made, "', '"));
}

}  // namespace

void HyperParamSetter::setup_graph() {
  const std::vector<Variable>& all = trainer().graph().variables();
  const auto at = std::ranges::find_if(all, [&](const Variable& v) { return v.name() == parameter_; });
  BELFRY_CHECK(at != all.end(), "[{}] expected the name of a hyper-parameter, got '{}'.{}", name(), parameter_,
               known_instead(trainer().graph(), parameter_));
  variable_ = *at;
  BELFRY_CHECK(variable_.shape().rank() == 0 && is_float(variable_.dtype()),
               "[{}] expected '{}' to be a scalar float, got {}. Make it with hyper_param().", name(), parameter_,
               to_string(variable_));
}

double HyperParamSetter::current_value() const {
  return trainer().session().value(variable_, trainer().trained_at()).item();
}

void HyperParamSetter::set() {
  const std::optional<double> value = value_to_set();
  if (!value) return;
  const double before = current_value();
  if (static_cast<float>(*value) == static_cast<float>(before)) return;
  trainer().session().set_value(variable_, Array(*value), trainer().trained_at());
  if (trainer().epoch_num() != logged_epoch_)  // a schedule by steps would fill the log
    log_info(fmt::format("[{}] at step {}, {} changes from {:.6g} to {:.6g}", name(), trainer().global_step(),
                         parameter_, before, *value));
  logged_epoch_ = trainer().epoch_num();
}

ScheduledHyperParamSetter::ScheduledHyperParamSetter(std::string parameter, Schedule schedule, ScheduleOptions options)
    : HyperParamSetter(std::move(parameter)), schedule_(std::move(schedule)), options_(options) {
  BELFRY_CHECK(!schedule_.empty(), "[ScheduledHyperParamSetter] expected a schedule, got an empty one.");
  std::ranges::sort(schedule_);
  for (std::size_t i = 0; i < schedule_.size(); ++i) {
    BELFRY_CHECK(schedule_[i].first >= 0 && std::isfinite(schedule_[i].second),
                 "[ScheduledHyperParamSetter] expected times of 0 or more and finite values, got {} at {}.",
                 schedule_[i].second, schedule_[i].first);
    BELFRY_CHECK(i == 0 || schedule_[i].first != schedule_[i - 1].first,
                 "[ScheduledHyperParamSetter] expected each time once, got {} twice.", schedule_[i].first);
  }
}

void ScheduledHyperParamSetter::trigger_epoch() {
  if (!options_.step_based) trigger();
}

void ScheduledHyperParamSetter::trigger_step() {
  if (options_.step_based) trigger();
}

std::optional<double> ScheduledHyperParamSetter::value_to_set() {
  const std::int64_t now = options_.step_based ? trainer().global_step() : trainer().epoch_num();
  const std::int64_t looked = std::exchange(looked_, now);
  const auto next = std::ranges::upper_bound(schedule_, now, {}, &Schedule::value_type::first);
  if (next == schedule_.begin()) return std::nullopt;
  const auto& [begin, value] = *std::prev(next);
  if (options_.linear && next != schedule_.end()) {
    const double part = static_cast<double>(now - begin) / static_cast<double>(next->first - begin);
    return value + part * (next->second - value);
  }
  return begin > looked ? std::optional(value) : std::nullopt;
}

std::string ScheduledHyperParamSetter::state() const { return std::to_string(looked_); }

void ScheduledHyperParamSetter::restore(const std::string& state) {
  restore_state(name(), [&] { looked_ = nlohmann::json::parse(state).get<std::int64_t>(); });
}

}  // namespace belfry
