// CheckpointWriter: a directory of checkpoints, written so that a crash at any moment leaves the last good one. An old
// one is removed only once the new one is safely on disk. Saver (saver.h) is a session's side of it.
#pragma once

#include <cstdint>
#include <ctime>
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
  tensors,  // <prefix>-<step>.safetensors, last of its files: from here on the checkpoint is complete
  state,    // <prefix>-<step>.json
  index,    // from here on it is the latest one
  prune,    // those beyond `keep` are removed
};

struct SaverOptions {
  std::string directory{};  // created if it does not exist
  std::string prefix = "model";
  int keep = 10;  // newest ones; 0: all
  // Besides: one as old as this after the last one that stays for this reason stays for good. 0: none.
  double keep_every_hours = 0;
  std::string index = std::string(kCheckpointIndex);  // savers that share a directory each need their own
  std::uint64_t shard_bytes = 0;  // values of more than this go into files of at most so much each; 0: into one
  std::function<void(SaveStage)> on_stage{};  // called before each stage, by the thread that writes
};

// Throws unless the names are plain file names and `keep` is 0 or more.
void check_saver_options(const SaverOptions& options);

class CheckpointWriter {
 public:
  // Continues with the complete checkpoints that the index lists, and those that it does not list yet because their
  // writer was killed; a damaged one is a warning, does not count and stays where it is. Removes temporary files of
  // this prefix and index whose writer is dead: only one machine may use the directory.
  explicit CheckpointWriter(SaverOptions options);

  // Returns the path of the safetensors file. A step that was saved before is replaced. If it throws, the earlier
  // checkpoints and the index are still there. Old checkpoints that cannot be removed are a warning in the log; the
  // next write tries again. `after`: files that are synced before the checkpoint becomes complete, so that one that
  // loads never refers to what a power failure has taken.
  std::string write(std::int64_t step, const std::map<std::string, Array>& tensors, CheckpointState state,
                    const std::vector<std::string>& after = {});

  // A warning if the disk does not have room for the checkpoints of this size still to come: those up to `keep`, and
  // one that is written before the oldest is removed; otherwise "".
  std::string room_problem(std::uint64_t bytes) const;

  std::vector<std::string> kept() const;  // the paths, oldest first
  const std::string& directory() const { return options_.directory; }

 private:
  void enter(SaveStage stage) const;
  void adopt();
  void write_files(const std::string& name, const std::map<std::string, Array>& tensors, const std::string& state,
                   const std::vector<std::string>& after);
  void write_tensors(const std::string& name, const std::map<std::string, Array>& tensors, const std::string& state);
  void write_index(const std::string& name);
  bool stays(const std::string& name);
  void prune();

  SaverOptions options_;
  std::vector<std::string> kept_;                     // oldest first
  std::vector<std::string> removing_;                 // to be removed
  std::time_t last_that_stays_ = std::time(nullptr);  // see SaverOptions::keep_every_hours; at first, the beginning
};

}  // namespace belfry
#pragma GCC visibility pop
