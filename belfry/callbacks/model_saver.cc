#include "belfry/callbacks/model_saver.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/base/exact_number.h"
#include "belfry/base/log.h"
#include "belfry/base/nearest.h"
#include "belfry/callbacks/internal/restore_state.h"
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

std::vector<Written> ModelSaver::writes() const { return {{directory_of(options_.directory, trainer())}}; }

void ModelSaver::before_train() {
  const SaverOptions files{.directory = directory_of(options_.directory, trainer()), .keep = options_.keep};
  saver_ = std::make_unique<ReportingSaver>(trainer(), name(), files, options_.max_failures);
}

void ModelSaver::trigger_step() { saver_->look(); }

void ModelSaver::trigger() {
  trainer().after_this_hook([this] { save(); });
}

void ModelSaver::save() {
  saver_->save(trainer().global_step(), training_state(trainer()));
  saved_ = trainer().global_step();
}

void ModelSaver::after_train() {
  if (saver_ == nullptr) return;
  if (trainer().save_at_end() && saved_ != trainer().global_step()) save();
  saver_->finish();
}

BestSaver::BestSaver(std::string metric, bool smallest, BestSaverOptions options)
    : metric_(std::move(metric)), smallest_(smallest), options_(std::move(options)) {
  if (options_.prefix.empty()) options_.prefix = file_prefix(smallest, metric_);
}

std::vector<Written> BestSaver::writes() const { return {{directory_of(options_.directory, trainer())}}; }

void BestSaver::before_train() {
  const SaverOptions files{.directory = directory_of(options_.directory, trainer()),
                           .prefix = options_.prefix,
                           .keep = 1,
                           .index = options_.prefix + ".index"};
  saver_ = std::make_unique<ReportingSaver>(trainer(), name(), files, options_.max_failures);
}

void BestSaver::trigger_step() { saver_->look(); }

std::size_t BestSaver::count() const { return trainer().monitors().history(metric_).size(); }

// Called when all callbacks have had their turn: only then it is known whether the metric is put at all.
void BestSaver::fail_without_value() const {
  if (count() > seen_)
    fail(
        "[{}] expected a value of '{}' by its turn in epoch {}, got it later, from a callback behind. Put this "
        "callback "
        "behind that one.",
        name(), metric_, trainer().epoch_num());
  fail(
      "[{}] expected a value of '{}' by the end of epoch {}, got none.{} Add the callback that computes it, before "
      "this "
      "one.",
      name(), metric_, trainer().epoch_num(), did_you_mean(metric_, trainer().monitors().names()));
}

void BestSaver::before_epoch() { seen_ = count(); }

void BestSaver::trigger() {
  if (count() == seen_) {
    if (trainer().stop_requested()) return;  // whoever would have computed it may have stopped too
    if (found_)
      log_warning(fmt::format("[{}] '{}' has no new value: nothing is saved.", name(), metric_));
    else
      trainer().after_this_hook([this] { fail_without_value(); });
    return;
  }
  seen_ = count();
  found_ = true;
  const double value = trainer().monitors().history(metric_).back().value;
  if (std::isnan(value)) return log_warning(fmt::format("[{}] '{}' is NaN: not saved.", name(), metric_));
  if (best_ && (smallest_ ? value >= best_->value : value <= best_->value)) return;
  best_ = {value, trainer().global_step()};
  log_info(fmt::format("[{}] best '{}' so far: {:.6g}", name(), metric_, value));
  trainer().after_this_hook([this] { saver_->save(trainer().global_step(), training_state(trainer())); });
}

void BestSaver::after_train() {
  if (saver_ != nullptr) saver_->finish();
}

std::string BestSaver::state() const {
  nlohmann::json out{{"found", found_}, {"seen", seen_}};
  if (best_) out.update({{"value", exact_text(best_->value)}, {"step", best_->step}});
  return out.dump();
}

void BestSaver::restore(const std::string& state) {
  restore_state(name(), [&] {
    const nlohmann::json in = nlohmann::json::parse(state);
    const bool found = in.at("found").get<bool>();
    std::optional<Best> best;
    if (in.contains("value"))
      best = {exact_number(in.at("value").get<std::string>()), in.at("step").get<std::int64_t>()};
    seen_ = in.at("seen").get<std::size_t>();
    found_ = found;
    best_ = best;
  });
}

}  // namespace belfry
