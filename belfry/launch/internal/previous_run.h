// What an earlier run left in the directory of a new one is kept, not written over.
#pragma once

#include <string>
#include <vector>

#include "belfry/loop/callback.h"

namespace belfry {

// Moves checkpoints with any prefix, their indexes and `logs` (with their .old) from `run_dir` to
// `run_dir`/previous-<n>, n one more than the largest there, and gives that path; "" if there is nothing to move. Each
// file is moved by one rename, and the directory gets its name when all are there: what was interrupted is completed by
// the next call. Everything else stays. Throws FileError; then each file is in one of the two places.
std::string move_previous_run(const std::string& run_dir, const std::vector<std::string>& logs);

// Does so when a training starts that does not continue the one in its run_dir: by then session_init has read what it
// needs, and nothing has been written yet.
class KeepPreviousRun final : public Callback {
 public:
  // `restored_from`: what session_init reads. A checkpoint of run_dir, or run_dir itself, makes it the same run.
  KeepPreviousRun(std::vector<std::string> restored_from, std::vector<std::string> logs)
      : restored_from_(std::move(restored_from)), logs_(std::move(logs)) {}
  void before_train() override;
  bool declares_metrics() const override { return true; }

 private:
  bool continues(const std::string& run_dir) const;
  std::vector<std::string> restored_from_, logs_;
};

}  // namespace belfry
