#include "belfry/callbacks/model_saver.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/base/nearest.h"
#include "belfry/loop/trainer.h"

namespace belfry {
namespace {

std::string directory_of(const std::string& wanted, const Trainer& trainer) {
  return wanted.empty() ? trainer.run_dir() : wanted;
}

// Names of metrics may hold slashes; names of files may not.
std::string file_prefix(bool smallest, std::string metric) {
  std::ranges::replace(metric, '/', '_');
  return (smallest ? "min-" : "max-") + metric;
}

}  // namespace

CheckpointState training_state(Trainer& trainer) {
  CheckpointState out{.epoch = trainer.epoch_num()};
  out.user["loop"] =
      nlohmann::json{
          {"epoch", trainer.epoch_num()}, {"global_step", trainer.global_step()}, {"iteration", trainer.iteration()}}
          .dump();
  out.user["monitors"] = trainer.monitors().state();
  const Callbacks& callbacks = trainer.callbacks();
  for (std::size_t i = 0; i < callbacks.size(); ++i)
    if (const std::string state = callbacks[i]->state(); !state.empty())
      out.user[fmt::format("callback {} {}", i, callbacks[i]->name())] = state;
  return out;
}

void ModelSaver::before_train() {
  saver_ = std::make_unique<Saver>(
      trainer().session(),
      SaverOptions{.directory = directory_of(options_.directory, trainer()), .keep = options_.keep});
}

void ModelSaver::trigger() {
  saver_->save(trainer().global_step(), training_state(trainer()));
  saved_ = trainer().global_step();
}

void ModelSaver::after_train() {
  if (saver_ == nullptr) return;
  if (trainer().save_at_end() && saved_ != trainer().global_step()) trigger();
  saver_->wait();
}

BestSaver::BestSaver(std::string metric, bool smallest, BestSaverOptions options)
    : metric_(std::move(metric)), smallest_(smallest), options_(std::move(options)) {
  if (options_.prefix.empty()) options_.prefix = file_prefix(smallest, metric_);
}

void BestSaver::before_train() {
  saver_ = std::make_unique<Saver>(trainer().session(),
                                   SaverOptions{.directory = directory_of(options_.directory, trainer()),
                                                .prefix = options_.prefix,
                                                .keep = 1,
                                                .index = options_.prefix + ".index"});
}

void BestSaver::trigger() {
  const std::size_t count = trainer().monitors().history(metric_).size();
  if (count == seen_) {
    const std::vector<std::string> names = trainer().monitors().names();
    const bool never = count == 0;
    fail("[{}] expected a new value of '{}' {}, got none.{} Put the callback that computes it before this one.", name(),
         metric_, never ? "by the end of the first epoch" : "since the last time",
         never ? did_you_mean(metric_, names) : "");
  }
  seen_ = count;
  const double value = trainer().monitors().history(metric_).back().value;
  if (std::isnan(value)) return log_warning(fmt::format("[{}] '{}' is NaN: not saved.", name(), metric_));
  if (best_ && (smallest_ ? value >= best_->value : value <= best_->value)) return;
  best_ = {value, trainer().global_step()};
  saver_->save(trainer().global_step(), training_state(trainer()));
  log_info(fmt::format("[{}] best '{}' so far: {}", name(), metric_, value));
}

void BestSaver::after_train() {
  if (saver_ != nullptr) saver_->wait();
}

std::string BestSaver::state() const {
  if (!best_) return "";
  return nlohmann::json{{"value", fmt::format("{}", best_->value)}, {"step", best_->step}, {"seen", seen_}}.dump();
}

void BestSaver::restore(const std::string& state) {
  try {
    const nlohmann::json in = nlohmann::json::parse(state);
    const Best best{std::stod(in.at("value").get<std::string>()), in.at("step").get<std::int64_t>()};
    seen_ = in.at("seen").get<std::size_t>();
    best_ = best;
  } catch (const std::exception& error) {
    fail("[{}] expected the state that a checkpoint keeps, got something else ({}).", name(), error.what());
  }
}

}  // namespace belfry
