#include "belfry/callbacks/model_saver.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/base/internal/exact_number.h"
#include "belfry/base/internal/nearest.h"
#include "belfry/base/log.h"
#include "belfry/callbacks/internal/broken_model.h"
#include "belfry/callbacks/internal/restore_state.h"
#include "belfry/loop/trainer.h"

namespace belfry {
namespace {

constexpr const char* kBest = "best";  // of a checkpoint's state

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
  const SaverOptions files{.directory = directory_of(options_.directory, trainer()),
                           .keep = options_.keep,
                           .keep_every_hours = options_.keep_every_hours,
                           .shard_bytes = options_.shard_bytes};
  ReportingSaver::check(name(), files, options_.max_failures);
  began_ = {trainer().global_step(), trainer().iteration()};
  trainer().before_first_step(
      [this, files] { saver_ = std::make_unique<ReportingSaver>(trainer(), name(), files, options_.max_failures); });
}

void ModelSaver::trigger_step() { saver_->look(); }

void ModelSaver::trigger() {
  trainer().after_this_hook([this] { save(); });
}

void ModelSaver::save() {
  if (!options_.save_broken && model_is_broken(trainer().session(), name())) return;
  saver_->save();
  saved_ = trainer().global_step();
}

void ModelSaver::finish_saves() {
  if (saver_ != nullptr) saver_->wait();
}

void ModelSaver::after_train() {
  if (saver_ == nullptr) return;
  const bool has_trained = began_ != std::pair(trainer().global_step(), trainer().iteration());
  if (trainer().save_at_end() && has_trained && saved_ != trainer().global_step()) save();
  saver_->finish();
  if (saved_ >= 0) trainer().set_last_checkpoint(saver_->last());
}

BestSaver::BestSaver(std::string metric, bool smallest, BestSaverOptions options)
    : metric_(std::move(metric)), smallest_(smallest), options_(std::move(options)) {
  if (options_.prefix.empty()) options_.prefix = file_prefix(smallest, metric_);
}

std::vector<Written> BestSaver::writes() const { return {{directory_of(options_.directory, trainer())}}; }

void BestSaver::before_train() {
  trainer().monitors().expect(*this, metric_);
  const SaverOptions files{.directory = directory_of(options_.directory, trainer()),
                           .prefix = options_.prefix,
                           .keep = 1,
                           .index = options_.prefix + std::string(kCheckpointIndexExtension)};
  ReportingSaver::check(name(), files, options_.max_failures);
  trainer().before_first_step([this, files] { begin(files); });
}

void BestSaver::begin(const SaverOptions& files) {
  saver_ = std::make_unique<ReportingSaver>(trainer(), name(), files, options_.max_failures);
  find_on_disk();
  // The checkpoint that training continues from mentions this one, but training ended before it was written.
  const bool better_there = best_ && on_disk_ && !beats(best_->value, on_disk_);
  if (best_ && best_->step == trainer().global_step() && !better_there && !saver_->has_saved(best_->step)) {
    saved_.reset();
    save();
  }
}

void BestSaver::save() {
  trainer().after_this_hook([this] { saver_->save(note()); });
}

// Why the checkpoint was saved, in its state: the value that it is the best for.
std::map<std::string, std::string> BestSaver::note() const {
  return {{kBest, nlohmann::json{{"metric", metric_}, {"value", exact_text(best_->value)}}.dump()}};
}

void BestSaver::find_on_disk() {
  on_disk_.reset();
  const std::string file = saver_->last();
  if (file.empty() || !trainer().is_continued()) return;
  try {
    const CheckpointState state = load_checkpoint(file).state;
    const auto note = state.user.find(kBest);
    if (note == state.user.end()) return;
    const nlohmann::json in = nlohmann::json::parse(note->second);
    on_disk_ = {exact_number(in.at("value").get<std::string>()), state.step};
  } catch (const std::exception& error) {  // a damaged one is not worth keeping
    log_warning(fmt::format("[{}] '{}': {}", name(), file, error.what()));
  }
}

void BestSaver::trigger_step() {
  saver_->look();
  note_saved();
}

void BestSaver::note_saved() {
  if (saver_->is_writing()) return;
  if (saver_->has_failed())
    best_ = saved_;
  else
    saved_ = best_;
}

bool BestSaver::beats(double value, const std::optional<Best>& other) const {
  return !other || (smallest_ ? value < other->value : value > other->value);
}

std::size_t BestSaver::count() const { return trainer().monitors().history(metric_).size(); }

// Values that were put before training belong to none of its steps.
void BestSaver::before_epoch() {
  if (!began_) seen_ = count();
  began_ = true;
}

void BestSaver::trigger() {
  trainer().decide_after_this_hook([this] { look(); });
}

void BestSaver::look() {
  if (count() == seen_) return say_without_value();
  seen_ = count();
  found_ = true;
  const auto [step, value] = trainer().monitors().history(metric_).back();
  if (std::isnan(value)) return log_warning(fmt::format("[{}] '{}' is NaN: not saved.", name(), metric_));
  if (!beats(value, best_) && !beats(value, saved_)) return;
  saver_->wait();  // to know whether it succeeded
  note_saved();
  if (!beats(value, best_)) return;
  if (model_is_broken(trainer().session(), name())) return;
  if (step != trainer().global_step()) say_of_another_step(step);
  best_ = {value, trainer().global_step()};
  if (on_disk_ && !beats(value, on_disk_) && value != on_disk_->value) {
    saved_ = best_;
    return log_info(
        fmt::format("[{}] '{}' is {:.6g}, the best since this run was continued. The checkpoint of step {} "
                    "in the directory, with {:.6g}, is better and stays.",
                    name(), metric_, value, on_disk_->step, on_disk_->value));
  }
  on_disk_.reset();
  log_info(fmt::format("[{}] best '{}' so far: {:.6g}", name(), metric_, value));
  save();
}

void BestSaver::say_without_value() {
  if (trainer().stop_requested()) return;  // the callback that computes it may have stopped too
  if (!std::exchange(said_none_, true))
    log_info(fmt::format("[{}] '{}' has no new value in epoch {}: nothing is saved. This is logged only once.", name(),
                         metric_, trainer().epoch_num()));
}

void BestSaver::say_of_another_step(std::int64_t step) {
  if (!std::exchange(said_step_, true))
    log_warning(
        fmt::format("[{}] '{}' was put at step {}, but the model is saved at step {}. Give this callback the period of "
                    "the one that puts it. This is logged only once.",
                    name(), metric_, step, trainer().global_step()));
}

void BestSaver::after_train() {
  if (said_none_ && !found_)
    log_error(fmt::format("[{}] '{}' was never put, nothing was saved.{} Add the callback that puts it.", name(),
                          metric_, did_you_mean(metric_, trainer().monitors().names())));
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
    began_ = true;
    found_ = found;
    best_ = saved_ = best;
    if (saver_ != nullptr) find_on_disk();  // training goes back
  });
}

}  // namespace belfry
