// Checkpoints: the whole state of a training run at one step, in two files.
//
//   model-1200.safetensors   the values of all GLOBAL_VARIABLES and, in the metadata, the text of the .json
//   model-1200.json          step, epoch, seeds, random counter, versions, autotune's choices, which of the values
//                            are the model's, users' own state, for people and scripts
//   checkpoint               the index: which checkpoints are kept, newest last
//
// The state travels inside the safetensors file too, so that one rename makes a checkpoint complete: values and state
// can never come from different saves. What is loaded is that copy; editing the .json changes nothing.
//
// Saver (saver.h) writes them; ContinueRun and SaverRestore (session_init.h) bring the values into a session.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/array/array.h"

#pragma GCC visibility push(default)
namespace belfry {

inline constexpr std::string_view kCheckpointIndex = "checkpoint";  // the usual name of the index file
// A saver that keeps the best has a separate index, "min-error.index" beside "min-error-1200.safetensors".
inline constexpr std::string_view kCheckpointIndexExtension = ".index";

struct CheckpointState {
  std::int64_t step = 0;
  std::int64_t epoch = 0;  // the last one started; run_position() (training_state.h) says whether it is finished
  std::map<std::string, std::uint64_t> seeds{};  // "graph" is the graph's
  std::uint64_t random_counter = 0;              // Session::random_counter()
  std::map<std::string, std::string> versions{};
  std::map<std::string, std::string> algorithms{};  // Session::algorithms()
  std::vector<std::string> model{};  // the names of what inference needs; the other values belong only to the run
  std::map<std::string, std::string> user{};  // the position in the data, callbacks' state, ...: any UTF-8 text
  bool operator==(const CheckpointState&) const = default;
};

struct Checkpoint {
  std::map<std::string, Array> tensors;  // mapped from the file: see read_safetensors()
  CheckpointState state;
};

// `path` names the safetensors file, with or without its extension; or a directory, for its latest checkpoint; or,
// without a step, the name of a saver's index, for the latest checkpoint listed there: "min-error" for
// "min-error.index". Everything is checked before anything is used; throws FileError.
Checkpoint load_checkpoint(const std::string& path);

// The path of the newest checkpoint in the index whose file exists; nothing if there is no index, or none of its files
// exists. A damaged index throws FileError.
std::optional<std::string> latest_checkpoint(const std::string& directory,
                                             const std::string& index = std::string(kCheckpointIndex));

// The .json and the metadata, and back. `where` begins error texts; both throw FileError.
std::string to_json(const CheckpointState& state, const std::string& where);
CheckpointState checkpoint_state_from_json(std::string_view text, const std::string& where);

// "model-1" and "model-1.safetensors" are the same checkpoint: the latter.
std::string checkpoint_file(const std::string& path);
// The file that load_checkpoint(path) reads. Throws FileError if there is none.
std::string find_checkpoint(const std::string& path);
// The state in a safetensors file's metadata; nothing if it has none (an exported model). Throws FileError.
std::optional<CheckpointState> checkpoint_state_in(const std::map<std::string, std::string>& metadata,
                                                   const std::string& path);
inline constexpr std::string_view kCheckpointMetadata = "belfry_checkpoint";

}  // namespace belfry
#pragma GCC visibility pop
