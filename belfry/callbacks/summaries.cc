#include "belfry/callbacks/summaries.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "belfry/base/check.h"
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

// A hooked run of nothing is not a step of training.
bool is_step(const RunContext& context) { return !context.fetches.empty(); }

}  // namespace

MovingAverageSummary::MovingAverageSummary(MovingAverageOptions options) : options_(options) {
  BELFRY_CHECK(options.decay >= 0 && options.decay < 1,
               "[MovingAverageSummary] expected a decay in [0, 1), got {}. The usual one is 0.95.", options.decay);
}

void MovingAverageSummary::setup_graph() {
  collect(trainer(), collection::kMovingSummaries, names_, fetches_);
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
  nlohmann::json out{{"weight", fmt::format("{}", weight_)}, {"sums", nlohmann::json::object()}};
  for (std::size_t i = 0; i < names_.size(); ++i) out["sums"][names_[i]] = fmt::format("{}", sums_[i]);
  return out.dump();
}

void MovingAverageSummary::restore(const std::string& state) {
  try {
    const nlohmann::json in = nlohmann::json::parse(state);
    std::vector<double> sums(names_.size(), 0);
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (in.at("sums").contains(names_[i])) sums[i] = std::stod(in.at("sums").at(names_[i]).get<std::string>());
    weight_ = std::stod(in.at("weight").get<std::string>());
    sums_ = std::move(sums);
  } catch (const std::exception& error) {
    fail("[MovingAverageSummary] expected the state that a checkpoint keeps, got something else ({}).", error.what());
  }
}

MergeAllSummaries::MergeAllSummaries(MergeAllSummariesOptions options) : options_(options) {
  BELFRY_CHECK(options.every_k_steps >= 0, "[MergeAllSummaries] expected a period from 0 up, got {}.",
               options.every_k_steps);
}

void MergeAllSummaries::setup_graph() { collect(trainer(), collection::kSummaries, names_, fetches_); }

HookRequest MergeAllSummaries::before_run(const RunContext& context) {
  const bool due = options_.every_k_steps > 0 ? (trainer().global_step() + 1) % options_.every_k_steps == 0
                                              : trainer().local_step() + 1 == trainer().steps_per_epoch();
  asked_ = due && is_step(context);
  if (!asked_) return {};
  return {.fetches = fetches_};
}

void MergeAllSummaries::after_run(const RunContext&, const RunValues& values) {
  if (!asked_) return;
  Monitors& monitors = trainer().monitors();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].shape().rank() == 0) {
      monitors.put_scalar(names_[i], values[i].item());
      continue;
    }
    double sum = 0, squares = 0;
    const std::int64_t n = values[i].elements();
    for (std::int64_t k = 0; k < n; ++k) {
      sum += values[i].item(k);
      squares += values[i].item(k) * values[i].item(k);
    }
    if (n == 0) continue;
    monitors.put_scalar(names_[i] + "/mean", sum / static_cast<double>(n));
    monitors.put_scalar(names_[i] + "/rms", std::sqrt(squares / static_cast<double>(n)));
  }
}

}  // namespace belfry
