// A small training in which everything has a state: a shuffled, augmented flow mapped by threads, dropout, an optimizer
// with slots, schedules, validation, savers, monitors. It is run again and again, killed, and continued.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "belfry/array/array.h"
#include "belfry/loop/monitors.h"

namespace belfry::torture {

struct TrainingOptions {
  std::string directory{};
  std::string optimizer = "adam";  // sgd, momentum or adam
  std::string trainer = "simple";  // simple, ps, replicated, or gan: two optimizers in turn
  std::int64_t kill_at = 0;        // a SIGKILL in the callbacks of this step; 0: none
  std::string without{};           // this part of the state is not restored: for a control that has to fail
  std::int64_t samples = 8;        // points of a validation
  int stall_ms = 0;                // a datapoint takes this long
};

inline constexpr std::int64_t kSteps = 40;  // of a whole training, in five epochs

// Trains to the end, from the checkpoint in the directory if there is one. Returns train()'s reason.
std::string train(const TrainingOptions& options);

// What a training leaves that must not depend on how often it was interrupted.
struct Result {
  std::map<std::string, Array> tensors{};  // of the last checkpoint and, with a prefix, of the best one
  std::string stats{};                     // stats.json
  std::map<std::string, std::vector<Monitors::Entry>, std::less<>> history{};
};
Result result_in(const std::string& directory);
// What differs, as text; "" if nothing does.
std::string difference(const Result& a, const Result& b);

// The parts of the state that `without` may name. (Not the savers of the best: they know it from their directory too.)
const std::vector<std::string>& parts();

}  // namespace belfry::torture
