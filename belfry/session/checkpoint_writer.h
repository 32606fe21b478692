// CheckpointWriter: a directory of checkpoints, written so that a crash at any moment leaves the last good one. An old
// one goes only when the new one is safely there. Saver (saver.h) is a session's side of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "belfry/array/array.h"
#include "belfry/session/checkpoint.h"

#pragma GCC visibility push(default)
namespace belfry {

// What a save does, in this order. Each of the first three is one atomic rename.
enum class SaveStage : std::uint8_t {
  tensors,  // <prefix>-<step>.safetensors: from here on the checkpoint is complete
  state,    // <prefix>-<step>.json
  index,    // from here on it is the latest one
  prune,    // those beyond `keep` are removed
};

struct SaverOptions {
  std::string directory{};  // made if it is not there
  std::string prefix = "model";
  int keep = 10;                                      // newest ones; 0: all
  std::string index = std::string(kCheckpointIndex);  // savers that share a directory have an index file each
  std::function<void(SaveStage)> on_stage{};          // called before each stage, by the thread that writes
};

// Throws unless the names are plain ones and `keep` is a number of files.
void check_saver_options(const SaverOptions& options);

class CheckpointWriter {
 public:
  // Goes on with what the index lists. Removes temporary files of this prefix and index whose writer is dead: the
  // directory is used by one machine.
  explicit CheckpointWriter(SaverOptions options);

  // Gives the path of the safetensors file. A step that was saved before is replaced. If it throws, the checkpoints
  // that were there still are, and so is the index. Old checkpoints that cannot be removed are a warning in the log,
  // and are tried again with the next write.
  std::string write(std::int64_t step, const std::map<std::string, Array>& tensors, CheckpointState state);

  // What to say if the disk has no room for checkpoints of this size, as many as are kept besides those that are there
  // and the one that is written before the oldest goes; else "".
  std::string room_problem(std::uint64_t bytes) const;

  std::vector<std::string> kept() const;  // the paths, oldest first
  const std::string& directory() const { return options_.directory; }

 private:
  void enter(SaveStage stage) const;
  void write_files(const std::string& name, const std::map<std::string, Array>& tensors, const std::string& state);
  void prune();

  SaverOptions options_;
  std::vector<std::string> kept_;      // oldest first
  std::vector<std::string> removing_;  // to be removed
};

}  // namespace belfry
#pragma GCC visibility pop
