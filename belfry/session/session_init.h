// SessionInit: where a session's variables get their values from when training starts, besides their initialisers.
//
//   SessionInit init = SaverRestore("train_log/fashion/model-1200", {.ignore = {"learning_rate"}});
//   init.init(session);
//   ChainInit({NpzRestore("pretrained.npz"), DictRestore({{"head/b", Array::zeros(f32, {10})}})}).init(session);
//
// Names are matched with the graph's GLOBAL_VARIABLES. A variable without a value there that starts as another one's
// value (an average of weights, say) gets what that one gets. All is checked before anything is set: after an error
// every variable has the value it had.
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

namespace belfry {

// Names, each list in alphabetical order.
struct InitReport {
  std::vector<std::string> restored;    // variables that got a value
  std::vector<std::string> missing;     // variables without one there: they keep theirs
  std::vector<std::string> unexpected;  // values that belong to no variable
  std::vector<std::string> ignored;     // left out because the options say so
  std::optional<std::int64_t> step{};   // of the checkpoint: where a training's global_step goes on
};

struct RestoreOptions {
  std::string prefix{};               // put in front of every name there: "teacher" makes "conv0/W" "teacher/conv0/W"
  std::vector<std::string> ignore{};  // variables (prefix included) to leave alone
  // With "EMA", a variable "w" gets the value "w/EMA", its moving average, where there is one beside "w".
  std::string prefer{};
  bool strict = false;  // missing and unexpected names are an error, not a warning in the log
};

// What an init is about to do.
struct InitPlan {
  std::vector<std::pair<Variable, Array>> values{};
  std::optional<std::uint64_t> random_counter{};
  std::map<std::string, std::string> algorithms{};
  InitReport report{};
  bool strict = false;
};

class SessionInit {
 public:
  using Prepare = std::function<InitPlan(Session&)>;

  SessionInit() = default;  // leaves the session as it is
  // `name` leads the texts of errors and warnings; `prepare` changes nothing; `paths` are what it reads.
  SessionInit(std::string name, Prepare prepare, std::vector<std::string> paths = {});

  // Throws one error that lists every value whose dtype or shape is not its variable's, both shown, and, if strict,
  // every missing and unexpected name; also if none of the names is a variable's, strict or not. Otherwise sets the
  // values and logs what is missing or unexpected.
  InitReport init(Session& session, const Location& where = Location::current()) const;

  // The checks alone.
  InitPlan prepare(Session& session) const;

  // The files and directories that values come from, as they were given.
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  std::string name_;
  Prepare prepare_;
  std::vector<std::string> paths_;
};

// From a checkpoint or an exported .safetensors, with or without the extension, or from the latest checkpoint of a
// directory (the latest when init() is called). A checkpoint also restores the session's random counter and autotune's
// choices, and a training that starts from it counts global_step on, unless .ignore names "global_step" or there is a
// .prefix; for the rest of its state see load_checkpoint().
struct SaverRestore : SessionInit {
  explicit SaverRestore(std::string path, RestoreOptions options = {});
};

struct DictRestore : SessionInit {
  explicit DictRestore(std::map<std::string, Array> values, RestoreOptions options = {});
};

// A ":0" at the end of a name, as TensorFlow and Tensorpack write it, is dropped.
struct NpzRestore : SessionInit {
  explicit NpzRestore(std::string path, RestoreOptions options = {});
};

// One after the other; where several have a value for a variable, the last one wins. Nothing is set unless all of them
// are valid. Missing is what none of them has.
struct ChainInit : SessionInit {
  explicit ChainInit(std::vector<SessionInit> parts);
};

}  // namespace belfry
