// SessionInit: where a session's variables get their values from when training starts, other than their initialisers.
//
//   ContinueRun("train_log/fashion").init(session);                    // continue a run: all that its checkpoint holds
//   SaverRestore("train_log/fashion/model-1200").init(session);        // only its model, for another run
//   SaverRestore("train_log/fashion", {.ignore = {"head/.*"}}).init(session);
//   ChainInit({NpzRestore("pretrained.npz"), DictRestore({{"head/b", Array::zeros(f32, {10})}})}).init(session);
//
// Names are matched with the graph's GLOBAL_VARIABLES. A variable that has no value there and whose initial value is
// another variable's (slow weights, say) gets what that one gets. Everything is checked before anything is set: after
// an error all variables are unchanged.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belfry/array/array.h"
#include "belfry/session/name_table.h"
#include "belfry/session/session.h"

#pragma GCC visibility push(default)
namespace belfry {

// Names, each list in alphabetical order.
struct InitReport {
  std::vector<std::string> restored;              // variables that got a value
  std::vector<std::string> missing;               // variables without a value there: they keep theirs
  std::vector<std::string> unexpected;            // values that belong to no variable
  std::vector<std::string> ignored;               // omitted because the options say so
  std::vector<std::string> mismatched{};          // omitted because their shapes differ: see skip_mismatched
  std::vector<std::string> of_the_run{};          // values that SaverRestore leaves to the run that saved them
  std::string checkpoint{};                       // of a continued run: the file
  std::optional<std::int64_t> step{};             // of a continued run: its global_step
  std::map<std::string, std::string> training{};  // of a continued run: CheckpointState::user
};

struct RestoreOptions {
  // For weights of another program: which of its names belong to which variables, and whose layout its values have
  // (docs/weights.md). Names that no row matches stay as they are.
  NameTable names{};
  WeightLayout layout = WeightLayout::belfry;
  std::string prefix{};  // put in front of every name there: "teacher" turns "conv0/W" into "teacher/conv0/W"
  // Variables (prefix included) to leave unchanged: regular expressions that have to match whole names. One that
  // matches neither a variable nor a value is an error.
  std::vector<std::string> ignore{};
  // With "EMA", a variable "w" gets the value "w/EMA", its moving average, if both are there.
  std::string prefer{};
  bool skip_mismatched = false;  // variables whose values have another shape keep theirs, and the log lists them
  bool strict = false;           // missing and unexpected names are an error, not a warning in the log
};

// What an init is about to do.
struct InitPlan {
  std::vector<std::pair<Variable, Array>> values{};
  std::optional<std::uint64_t> random_counter{};
  std::map<std::string, std::string> algorithms{};
  InitReport report{};
  std::vector<std::string> notes{};  // to be logged when it is done
  bool strict = false;
};

class SessionInit {
 public:
  using Prepare = std::function<InitPlan(Session&)>;

  SessionInit() = default;  // leaves the session as it is
  // `name` begins the texts of errors and warnings; `prepare` changes nothing.
  SessionInit(std::string name, Prepare prepare, std::vector<std::string> continued = {});

  // Throws one error that lists every value whose dtype or shape differs from its variable's, with both, and, if
  // strict, every missing and unexpected name. Also throws if no name is a variable's, strict or not. Otherwise sets
  // the values and logs what is missing or unexpected.
  InitReport init(Session& session, const Location& where = Location::current()) const;

  // Only the checks.
  InitPlan prepare(Session& session) const;

  // The checkpoints, or their directories, whose runs it continues.
  const std::vector<std::string>& continued() const { return continued_; }

 private:
  std::string name_;
  Prepare prepare_;
  std::vector<std::string> continued_;
};

// The model, for another run (fine-tuning, evaluation): values for the graph's variables that are trainable or in
// MODEL_VARIABLES. What belongs only to the run that saved them is not taken, and a line in the log lists it: optimizer
// slots, hyper-parameters, counters, global_step. From a checkpoint or an exported .safetensors, with or without the
// extension, or from the latest checkpoint of a directory (the latest when init() is called).
struct SaverRestore : SessionInit {
  explicit SaverRestore(std::string path, RestoreOptions options = {});
};

// Everything, to continue a run: all GLOBAL_VARIABLES (optimizer slots and hyper-parameters too), the session's random
// counter and autotune's choices, and, when training, global_step, the iteration and the state of each callback and
// monitor: the position in the data, the best value so far. From a checkpoint, or the latest one of a directory.
// global_step starts over if .ignore matches it; with a .prefix, the checkpoint is for a part of the graph only, and
// nothing but its values is taken.
struct ContinueRun : SessionInit {
  explicit ContinueRun(std::string path, RestoreOptions options = {});
};

// Takes all values, whether they belong to a model or only to a run: the user has chosen them.
struct DictRestore : SessionInit {
  explicit DictRestore(std::map<std::string, Array> values, RestoreOptions options = {});
};

// Like DictRestore. A ":0" at the end of a name, as TensorFlow and Tensorpack write it, is dropped.
struct NpzRestore : SessionInit {
  explicit NpzRestore(std::string path, RestoreOptions options = {});
};

// One after the other; where several have a value for a variable, the last one wins. Nothing is set unless all of them
// are valid. A variable is missing if none of them has a value for it.
struct ChainInit : SessionInit {
  explicit ChainInit(std::vector<SessionInit> parts);
};

}  // namespace belfry
#pragma GCC visibility pop
