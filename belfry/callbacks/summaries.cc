#include "belfry/callbacks/summaries.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/base/internal/exact_number.h"
#include "belfry/callbacks/internal/named_values.h"
#include "belfry/callbacks/internal/restore_state.h"
#include "belfry/graph/collections.h"
#include "belfry/loop/trainer.h"
#include "belfry/train/tower_gradients.h"

namespace belfry {
namespace {

// "tower0/cost" is "cost".
std::string summary_name(const Tensor& tensor) {
  const std::string main_tower = tower_name(0) + "/", name = tensor.name();
  return name.starts_with(main_tower) ? name.substr(main_tower.size()) : name;
}

void collect(const Trainer& trainer, std::string_view collection, std::vector<std::string>& names,
             std::vector<Fetch>& fetches) {
  for (const Tensor& tensor : trainer.graph().collections().tensors(collection)) {
    names.push_back(summary_name(tensor));
    fetches.emplace_back(tensor);
  }
}

constexpr const char* kTwice =
    "Remove one of the two: a tensor belongs in MOVING_SUMMARIES or in SUMMARIES, and a collection has one callback "
    "(.extra_callbacks replaces those that train_with_defaults() adds).";

// The name for the mean of a tensor that is not a scalar.
std::string mean_of(const std::string& name) { return name + "/mean"; }
std::string rms_of(const std::string& name) { return name + "/rms"; }

// A hooked run of nothing is not a step of training.
bool is_step(const RunContext& context) { return !context.fetches.empty(); }

}  // namespace

MovingAverageSummary::MovingAverageSummary(MovingAverageOptions options) : options_(std::move(options)) {
  BELFRY_CHECK(options_.decay >= 0 && options_.decay < 1,
               "[MovingAverageSummary] expected a decay in [0, 1), got {}. The usual one is 0.95.", options_.decay);
}

void MovingAverageSummary::setup_graph() {
  collect(trainer(), options_.collection, names_, fetches_);
  for (const std::string& metric : names_) trainer().monitors().declare(*this, metric, kTwice);
  sums_.resize(names_.size(), 0);
}

HookRequest MovingAverageSummary::before_run(const RunContext& context) {
  if (!is_step(context)) return {};
  return {.fetches = fetches_};
}

void MovingAverageSummary::after_run(const RunContext&, const RunValues& values) {
  if (values.empty()) return;
  for (std::size_t i = 0; i < values.size(); ++i)
    sums_[i] = options_.decay * sums_[i] + (1 - options_.decay) * values[i].item();
  weight_ = options_.decay * weight_ + (1 - options_.decay);
}

void MovingAverageSummary::after_epoch() {
  if (weight_ == 0) return;
  for (std::size_t i = 0; i < names_.size(); ++i) trainer().monitors().put_scalar(names_[i], sums_[i] / weight_);
}

std::string MovingAverageSummary::state() const {
  NamedValues sums;
  for (std::size_t i = 0; i < names_.size(); ++i) sums[names_[i]] = sums_[i];
  return nlohmann::json{{"weight", exact_text(weight_)}, {"sums", to_text(sums)}}.dump();
}

void MovingAverageSummary::restore(const std::string& state) {
  restore_state(name(), [&] {
    const nlohmann::json in = nlohmann::json::parse(state);
    const NamedValues known = named_values_from(in.at("sums").get<std::string>());
    weight_ = exact_number(in.at("weight").get<std::string>());
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (const auto at = known.find(names_[i]); at != known.end()) sums_[i] = at->second;
  });
}

MergeAllSummaries::MergeAllSummaries(MergeAllSummariesOptions options) : options_(std::move(options)) {
  BELFRY_CHECK(options_.every_k_steps >= 0, "[MergeAllSummaries] expected a period of 0 or more, got {}.",
               options_.every_k_steps);
}

void MergeAllSummaries::setup_graph() {
  collect(trainer(), options_.collection, names_, fetches_);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const bool scalar = fetches_[i].tensor().rank() == 0;
    for (const std::string& metric :
         scalar ? std::vector{names_[i]} : std::vector{mean_of(names_[i]), rms_of(names_[i])})
      trainer().monitors().declare(*this, metric, kTwice);
  }
}

HookRequest MergeAllSummaries::before_run(const RunContext& context) {
  if (options_.every_k_steps > 0 && (trainer().global_step() + 1) % options_.every_k_steps == 0) due_ = true;
  asked_ = !options_.run_alone && is_step(context) && wanted();
  if (!asked_) return {};
  return {.fetches = fetches_};
}

bool MergeAllSummaries::wanted() {
  if (options_.every_k_steps > 0) return due_;
  const std::int64_t now = trainer().iteration();
  longest_way_ = std::max(longest_way_, last_run_ ? now - *last_run_ : trainer().local_step() + 1);
  last_run_ = now;
  return trainer().steps_per_epoch() - trainer().local_step() <= longest_way_;
}

void MergeAllSummaries::after_run(const RunContext&, const RunValues& values) {
  if (!asked_) return;
  if (options_.every_k_steps > 0)
    put(numbers_of(values));
  else
    latest_ = numbers_of(values);
  due_ = false;
}

void MergeAllSummaries::trigger_step() {
  if (options_.run_alone && trainer().every_k_steps(options_.every_k_steps))
    put(numbers_of(trainer().session().run(fetches_, {}, {}, trainer().trained_at())));
}

void MergeAllSummaries::after_epoch() {
  if (options_.every_k_steps > 0) return;
  put(options_.run_alone ? numbers_of(trainer().session().run(fetches_, {}, {}, trainer().trained_at()))
                         : std::exchange(latest_, {}));
}

MergeAllSummaries::Numbers MergeAllSummaries::numbers_of(const RunValues& values) const {
  Numbers out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].shape().rank() == 0) {
      out[names_[i]] = values[i].item();
      continue;
    }
    double sum = 0, squares = 0;
    const std::int64_t n = values[i].elements();
    for (std::int64_t k = 0; k < n; ++k) {
      sum += values[i].item(k);
      squares += values[i].item(k) * values[i].item(k);
    }
    if (n == 0) continue;
    out[mean_of(names_[i])] = sum / static_cast<double>(n);
    out[rms_of(names_[i])] = std::sqrt(squares / static_cast<double>(n));
  }
  return out;
}

void MergeAllSummaries::put(const Numbers& numbers) {
  for (const auto& [metric, value] : numbers) trainer().monitors().put_scalar(metric, value);
}

std::string MergeAllSummaries::state() const {
  nlohmann::json out{{"due", due_}, {"longest_way", longest_way_}, {"latest", to_text(latest_)}};
  if (last_run_) out["last_run"] = *last_run_;
  return out.dump();
}

void MergeAllSummaries::restore(const std::string& state) {
  restore_state(name(), [&] {
    const nlohmann::json in = nlohmann::json::parse(state);
    due_ = in.at("due").get<bool>();
    longest_way_ = in.at("longest_way").get<std::int64_t>();
    if (in.contains("last_run")) last_run_ = in.at("last_run").get<std::int64_t>();
    latest_ = named_values_from(in.at("latest").get<std::string>());
  });
}

}  // namespace belfry
