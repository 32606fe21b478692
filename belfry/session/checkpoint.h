// Checkpoints: the whole state of a training run at one step.
//
//   model-1200.safetensors   the values of all GLOBAL_VARIABLES and, in the metadata, the text of the .json
//   model-1200.json          step, epoch, seeds, random counter, versions, autotune's choices, which of the values
//                            are the model's, users' own state, for people and scripts
//   checkpoint               the index: which checkpoints are kept, newest last
//
// The state travels inside the safetensors file too, so that one rename makes a checkpoint complete: values and state
// can never come from different saves. What is loaded is that copy; editing the .json changes nothing.
//
// Of a large one (SaverOptions::shard_bytes) the values lie in files of their own, model-1200.shard-1-of-3.safetensors
// and so on; model-1200.safetensors, written last, has the state, and the sizes and checksums of the others.
//
// Everything has checksums, which every load compares: a file that was cut short or changed in a single bit is not
// taken for a checkpoint. Where a directory is named, not a file, the newest complete checkpoint is used; a damaged one
// is a warning in the log. Checkpoints of older versions, without checksums, load too.
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
  std::map<std::string, Array> tensors;
  CheckpointState state;
  std::string path{};  // the safetensors file that it was loaded from
};

// `path` names the safetensors file, with or without its extension; or a directory, for its latest checkpoint; or,
// without a step, the name of a saver's index, for the latest checkpoint listed there: "min-error" for
// "min-error.index". Everything is checked before anything is used. Throws FileError if a file that was named is
// damaged; in a directory, only if all of its checkpoints are, or the newest was written by a newer version.
Checkpoint load_checkpoint(const std::string& path);

// The newest complete checkpoint of the saver with this index: the last one saved, also if its writer was killed
// before it came into the index. A damaged one is a warning, and the one before it is used; without a good index the
// directory is searched. Nothing if there are no checkpoints; throws FileError if there are only damaged ones.
std::optional<Checkpoint> load_latest_checkpoint(const std::string& directory,
                                                 const std::string& index = std::string(kCheckpointIndex));

// Only its path. To know that it is complete, all of it is read: load_latest_checkpoint() says the path, too.
std::optional<std::string> latest_checkpoint(const std::string& directory,
                                             const std::string& index = std::string(kCheckpointIndex));

// The values of a checkpoint, or of a safetensors file that is none, such as an exported model; then without a state.
struct SavedValues {
  std::map<std::string, Array> tensors;
  std::optional<CheckpointState> state{};
  std::string path{};
};

// `path` as for load_checkpoint().
SavedValues load_values(const std::string& path);

struct ListedCheckpoint {
  std::string path;  // the safetensors file
  std::string prefix;
  std::int64_t step = 0;
  std::uint64_t bytes = 0;  // of all its safetensors files
  std::string problem{};    // why it cannot be loaded; "" if it is complete
};

// All checkpoints in a directory, of all savers, by prefix and step. Quick: looks at files' sizes and headers, and does
// not read the values.
std::vector<ListedCheckpoint> list_checkpoints(const std::string& directory);

// The .json and the metadata, and back. `where` begins error texts; both throw FileError.
std::string to_json(const CheckpointState& state, const std::string& where);
CheckpointState checkpoint_state_from_json(std::string_view text, const std::string& where);

// "model-1" and "model-1.safetensors" are the same checkpoint: the latter.
std::string checkpoint_file(const std::string& path);
// The file that load_checkpoint(path) reads. Throws FileError if there is none. Of a directory, the checkpoint is read
// to know that it is complete: Checkpoint::path says which file it is, too.
std::string find_checkpoint(const std::string& path);
// The state in a safetensors file's metadata; nothing if it has none (an exported model). Throws FileError.
std::optional<CheckpointState> checkpoint_state_in(const std::map<std::string, std::string>& metadata,
                                                   const std::string& path);
inline constexpr std::string_view kCheckpointMetadata = "belfry_checkpoint";

}  // namespace belfry
#pragma GCC visibility pop
