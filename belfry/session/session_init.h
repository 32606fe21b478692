// SessionInit: where a session's variables get their values from when training starts, besides their initialisers.
//
//   ContinueRun("train_log/fashion").init(session);                    // a run goes on: all that its checkpoint holds
//   SaverRestore("train_log/fashion/model-1200").init(session);        // its model alone, for another run
//   SaverRestore("train_log/fashion", {.ignore = {"head/.*"}}).init(session);
//   ChainInit({NpzRestore("pretrained.npz"), DictRestore({{"head/b", Array::zeros(f32, {10})}})}).init(session);
//
// Names are matched with the graph's GLOBAL_VARIABLES. A variable without a value there that starts as another one's
// value (slow weights, say) gets what that one gets. All is checked before anything is set: after an error every
// variable has the value it had.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belfry/array/array.h"
#include "belfry/session/session.h"

#pragma GCC visibility push(default)
namespace belfry {

// Names, each list in alphabetical order.
struct InitReport {
  std::vector<std::string> restored;              // variables that got a value
  std::vector<std::string> missing;               // variables without one there: they keep theirs
  std::vector<std::string> unexpected;            // values that belong to no variable
  std::vector<std::string> ignored;               // left out because the options say so
  std::vector<std::string> mismatched{};          // left out because their shapes differ: see skip_mismatched
  std::vector<std::string> of_the_run{};          // values that SaverRestore leaves to the run that saved them
  std::string checkpoint{};                       // of a run that goes on: the file
  std::optional<std::int64_t> step{};             // of a run that goes on: its global_step
  std::map<std::string, std::string> training{};  // of a run that goes on: CheckpointState::user
};

struct RestoreOptions {
  std::string prefix{};  // put in front of every name there: "teacher" makes "conv0/W" "teacher/conv0/W"
  // Variables (prefix included) to leave alone: regular expressions, each for whole names. One that matches neither a
  // variable nor a value is an error.
  std::vector<std::string> ignore{};
  // With "EMA", a variable "w" gets the value "w/EMA", its moving average, where there is one beside "w".
  std::string prefer{};
  bool skip_mismatched = false;  // variables of another shape than their values keep theirs, with a list in the log
  bool strict = false;           // missing and unexpected names are an error, not a warning in the log
};

// What an init is about to do.
struct InitPlan {
  std::vector<std::pair<Variable, Array>> values{};
  std::optional<std::uint64_t> random_counter{};
  std::map<std::string, std::string> algorithms{};
  InitReport report{};
  std::vector<std::string> notes{};  // for the log, when it is done
  bool strict = false;
};

class SessionInit {
 public:
  using Prepare = std::function<InitPlan(Session&)>;

  SessionInit() = default;  // leaves the session as it is
  // `name` leads the texts of errors and warnings; `prepare` changes nothing.
  SessionInit(std::string name, Prepare prepare, std::vector<std::string> continued = {});

  // Throws one error that lists every value whose dtype or shape is not its variable's, both shown, and, if strict,
  // every missing and unexpected name; also if none of the names is a variable's, strict or not. Otherwise sets the
  // values and logs what is missing or unexpected.
  InitReport init(Session& session, const Location& where = Location::current()) const;

  // The checks alone.
  InitPlan prepare(Session& session) const;

  // The checkpoints, or their directories, whose runs go on with it.
  const std::vector<std::string>& continued() const { return continued_; }

 private:
  std::string name_;
  Prepare prepare_;
  std::vector<std::string> continued_;
};

// The model, for another run (fine-tuning, evaluation): of the graph's variables those that are trainable or in
// MODEL_VARIABLES. What belongs to the run that saved them stays there, and a line in the log says what that was:
// optimizer slots, hyper-parameters, counters, global_step. From a checkpoint or an exported .safetensors, with or
// without the extension, or from the latest checkpoint of a directory (the latest when init() is called).
struct SaverRestore : SessionInit {
  explicit SaverRestore(std::string path, RestoreOptions options = {});
};

// Everything, to go on with a run: all GLOBAL_VARIABLES (optimizer slots and hyper-parameters too), the session's
// random counter and autotune's choices, and in a training global_step, the iteration and the state of each callback
// and monitor: the position in the data, the best value so far. From a checkpoint, or the latest one of a directory.
// global_step starts anew if .ignore matches it; with a .prefix, values are only a part of the graph's, and nothing but
// them is taken.
struct ContinueRun : SessionInit {
  explicit ContinueRun(std::string path, RestoreOptions options = {});
};

// Whatever is named there, be it of a model or of a run: the values are the user's own choice.
struct DictRestore : SessionInit {
  explicit DictRestore(std::map<std::string, Array> values, RestoreOptions options = {});
};

// Like DictRestore. A ":0" at the end of a name, as TensorFlow and Tensorpack write it, is dropped.
struct NpzRestore : SessionInit {
  explicit NpzRestore(std::string path, RestoreOptions options = {});
};

// One after the other; where several have a value for a variable, the last one wins. Nothing is set unless all of them
// are valid. Missing is what none of them has.
struct ChainInit : SessionInit {
  explicit ChainInit(std::vector<SessionInit> parts);
};

}  // namespace belfry
#pragma GCC visibility pop
