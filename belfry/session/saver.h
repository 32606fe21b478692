// Saver: checkpoints of a session, written in the background.
//
//   Saver saver(session, {.directory = "train_log/fashion"});
//   saver.save(step, {.epoch = 3, .user = {{"dataflow", to_string(flow.state())}}});
//   saver.wait();
//
// save() copies the values and returns; a thread writes them. Memory for one copy at most: save() first waits for the
// write before it. One thread at a time, and not while the session runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "belfry/session/checkpoint_writer.h"
#include "belfry/session/session.h"

#pragma GCC visibility push(default)
namespace belfry {

struct SaveRequest {
  // Files that are on disk before the checkpoint is complete, such as a history that its state refers to: what they
  // hold when save() is called.
  std::vector<std::string> after{};
};

class Saver {
 public:
  // Borrows the session. Logs a warning if the disk does not have room for the checkpoints to be kept.
  Saver(Session& session, SaverOptions options);
  // Waits; an error that has not been thrown yet is logged.
  ~Saver();
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  // Saves the GLOBAL_VARIABLES as they are now. Of `state`, the step, the graph's seed, the session's random counter,
  // autotune's choices and the versions known here are filled in. The error of a failed write is thrown by the next
  // save() or wait(), exactly once; save() throws it after it has started its own write, so that one failure does not
  // cause another.
  void save(std::int64_t step, CheckpointState state = {}, SaveRequest request = {},
            const Location& where = Location::current());
  // Waits until the last save is on disk.
  void wait();
  // Does not wait: false while a save is being written, otherwise like wait().
  bool poll();

  // The paths of the checkpoints that are kept, oldest first. Waits, but leaves an error for save() or wait().
  std::vector<std::string> checkpoints();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace belfry
#pragma GCC visibility pop
