#include "belfry/loop/training_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/loop/internal/state_key.h"
#include "belfry/loop/trainer.h"

namespace belfry {
namespace {

constexpr const char *kLoop = "loop", *kMonitors = "monitors", *kCallback = "callback ";

using States = std::map<std::string, std::string>;

// "MinSaver" for "callback 3 MinSaver".
std::string_view name_in(std::string_view key) {
  if (!key.starts_with(kCallback)) return {};
  key.remove_prefix(std::string_view(kCallback).size());
  return key.substr(std::min(key.size(), key.find(' ') + 1));
}

// The state of the same name and place; of the same name only, if one callback and one state have it.
States::const_iterator state_for(const Trainer& trainer, std::size_t place, const States& states) {
  if (const auto same = states.find(state_key(trainer, place)); same != states.end()) return same;
  const std::string name = trainer.callbacks()[place]->name();
  const auto is_named = [&](const auto& item) { return name_in(item.first) == name; };
  const bool is_unique =
      std::ranges::count_if(states, is_named) == 1 &&
      std::ranges::count_if(trainer.callbacks(), [&](const auto& callback) { return callback->name() == name; }) == 1;
  return is_unique ? std::ranges::find_if(states, is_named) : states.end();
}

// Nothing if the checkpoint is from a version that did not store it.
std::optional<RunPosition> position_in(const nlohmann::json& loop) try {
  RunPosition out{.epoch = loop.at("epoch").get<int>(),
                  .steps_done = loop.at("steps_done").get<std::int64_t>(),
                  .steps_per_epoch = loop.at("steps_per_epoch").get<std::int64_t>(),
                  .ended = loop.at("ended").get<bool>()};
  out.next_epoch = out.ended ? out.epoch + 1 : out.epoch;
  if (out.ended) return out;
  out.hook = loop.value("hook", "step");
  out.callback = loop.value("callback", "");
  out.deferred = loop.value("deferred", std::vector<std::string>());
  return out;
} catch (const nlohmann::json::exception&) {
  return std::nullopt;
}

}  // namespace

std::string state_key(const Trainer& trainer, std::size_t place) {
  return fmt::format("{}{} {}", kCallback, place, trainer.callbacks()[place]->name());
}

RunPosition run_position(const CheckpointState& state) {
  const auto loop = state.user.find(kLoop);
  if (loop != state.user.end())
    if (const auto known = position_in(nlohmann::json::parse(loop->second, nullptr, false))) return *known;
  return {.epoch = static_cast<int>(state.epoch), .next_epoch = static_cast<int>(state.epoch) + 1};
}

std::string to_string(const RunPosition& at) {
  if (at.ended) return at.epoch == 0 ? "no epoch had begun" : fmt::format("epoch {} was done", at.epoch);
  if (at.hook == "after_epoch" || at.hook == "trigger_epoch")
    return fmt::format("epoch {} was done, except for what callbacks do at its end", at.epoch);
  return fmt::format("{} of {} steps of epoch {} were done", at.steps_done, at.steps_per_epoch, at.epoch);
}

RunPosition Trainer::position() const {
  RunPosition out{.epoch = epoch_num_,
                  .steps_done = epoch_steps_,
                  .steps_per_epoch = loop_.steps_per_epoch,
                  .ended = *hook_ == '\0'};
  out.next_epoch = out.ended ? out.epoch + 1 : out.epoch;
  if (out.ended) return out;
  out.hook = hook_;
  if (cut_at_) out.callback = state_key(*this, *cut_at_);
  out.deferred = cut_deferred_;
  return out;
}

// Where the loop begins: in the middle of an epoch if a continued run was there.
RunPosition Trainer::beginning() {
  starting_epoch_ = loop_.starting_epoch.value_or(continued_ ? continued_->next_epoch : 1);
  warn_of_other_epoch();
  const bool inside = continued_ && !continued_->ended && continued_->epoch == starting_epoch_;
  return inside ? *continued_ : RunPosition{.next_epoch = starting_epoch_};
}

void Trainer::warn_of_other_epoch() const {
  if (!continued_ || starting_epoch_ == continued_->next_epoch || !is_chief()) return;
  log_warning(
      fmt::format("[main_loop] expected starting_epoch {}, because in the continued run {}, got {} (at {}). Omit "
                  "starting_epoch, unless this is intended.",
                  continued_->next_epoch, to_string(*continued_), starting_epoch_, to_string(where_)));
}

CheckpointState training_state(Trainer& trainer) {
  CheckpointState out{.epoch = trainer.epoch_num()};
  const RunPosition position = trainer.position();
  out.user[kLoop] = nlohmann::json{{"epoch", position.epoch},
                                   {"local_step", trainer.local_step()},
                                   {"global_step", trainer.global_step()},
                                   {"iteration", trainer.iteration()},
                                   {"steps_done", position.steps_done},
                                   {"steps_per_epoch", position.steps_per_epoch},
                                   {"triggered_step", trainer.triggered_step_},
                                   {"triggered_before", trainer.triggered_before_},
                                   {"ended", position.ended},
                                   {"hook", position.hook},
                                   {"callback", position.callback},
                                   {"deferred", position.deferred}}
                        .dump();
  out.user[kMonitors] = trainer.monitors().state();
  const Callbacks& callbacks = trainer.callbacks();
  for (std::size_t i = 0; i < callbacks.size(); ++i)
    if (const std::string state = callbacks[i]->state(); !state.empty()) out.user[state_key(trainer, i)] = state;
  return out;
}

void restore_training_state(Trainer& trainer, const std::map<std::string, std::string>& user, RestoreData data) {
  if (const auto loop = user.find(kLoop); loop != user.end()) {
    const nlohmann::json in = nlohmann::json::parse(loop->second, nullptr, false);
    const bool known = in.is_object() && in.contains("iteration") && in["iteration"].is_number_integer();
    BELFRY_CHECK_AS(FileError, known,
                    "[checkpoint] expected the loop's counters, got '{}'. The file is from another program.",
                    loop->second);
    trainer.iteration_ = in["iteration"].get<std::int64_t>();
    trainer.continued_ = position_in(in);
    trainer.triggered_step_ = in.value("triggered_step", std::int64_t{0});
    trainer.triggered_before_ = in.value("triggered_before", std::int64_t{0});
  }
  if (const auto monitors = user.find(kMonitors); monitors != user.end()) trainer.monitors().restore(monitors->second);
  std::set<std::string> left;
  for (const auto& [key, state] : user)
    if (key.starts_with(kCallback)) left.insert("'" + key + "'");
  for (std::size_t i = 0; i < trainer.callbacks().size(); ++i) {
    const auto state = state_for(trainer, i, user);
    if (state == user.end()) continue;
    if (data == RestoreData::yes || !trainer.callbacks()[i]->holds_data_position())
      trainer.callbacks()[i]->restore(state->second);
    left.erase("'" + state->first + "'");
  }
  if (!left.empty())
    log_warning(
        fmt::format("[ContinueRun] the checkpoint holds states of {}, and this training has no such callbacks, or "
                    "several in other places: they are not used.",
                    fmt::join(left, ", ")));
}

}  // namespace belfry
