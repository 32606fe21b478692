// run.json: what a run's directory knows of the runs that wrote to it, newest last. For people and the belfry command.
//
//   {"format": 1, "runs": [{"program": "gan", "command": ["./gan", "--epochs", "5"], "directory": "/home/me",
//     "versions": {...}, "devices": ["cpu:0 (2 threads)"], "seed": 1, "host": "name", "process": 1234,
//     "began": "2026-11-19T04:10:00Z", "auto_resume": true, "from": {"checkpoint": "model-100.safetensors", "step":
//     100}, "state": "running", "epoch": 0, "step": 100}]}
//
// At the end: "ended", "state" ("finished", "stopped", "interrupted" or "failed"), "reason", the "exit" code of a
// program that ends as the examples do, and the "signal" that interrupted it. A run whose state is "running" although
// its process is gone was killed.
#pragma once

#include <memory>
#include <string>

#include "belfry/loop/trainer.h"

namespace belfry {

class RunRecord {
 public:
  // Adds this run to what the directory's file has. A file that cannot be read or written is a warning: it is for
  // people, and no reason not to train.
  RunRecord(const Trainer& trainer, const std::string& directory, bool auto_resume);
  ~RunRecord();
  RunRecord(const RunRecord&) = delete;
  RunRecord& operator=(const RunRecord&) = delete;

  // `signal`: that has interrupted it, or 0.
  void end(const std::string& state, const std::string& reason, int signal);

 private:
  struct State;
  void write();
  const Trainer& trainer_;
  std::string path_;
  std::unique_ptr<State> state_;
};

// Throws unless the newest run in the directory was of this program, if a file there says so.
void check_same_program(const std::string& directory);

// The words of this process's command line, quoted for a shell.
std::string command_line_text();

}  // namespace belfry
