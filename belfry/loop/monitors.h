// Monitors: where the numbers of a training go. Callbacks put them; each monitor does something with them (a file, the
// screen), and the latest values can be read.
//
//   trainer().monitors().put_scalar("validation_error", 0.08);
//   trainer().monitors().latest("validation_error");
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/loop/callback.h"

#pragma GCC visibility push(default)
namespace belfry {

// A monitor is a callback that also gets the scalars that are put. Called after all others, so that its trigger_epoch()
// sees the whole epoch.
class Monitor : public Callback {
 public:
  // `step` is the global step at which it was put.
  virtual void put_scalar(const std::string& name, double value, std::int64_t step) = 0;
  bool declares_metrics() const override { return true; }  // it puts none
};

class [[gnu::visibility("hidden")]] HistoryFile;

class Monitors {
 public:
  explicit Monitors(Trainer& trainer);
  ~Monitors();
  Monitors(const Monitors&) = delete;
  Monitors& operator=(const Monitors&) = delete;

  void put_scalar(std::string_view name, double value);

  // To be called in setup_graph(): `by` will put scalars of this name. Another callback that puts them too would
  // overwrite them: that is an error, whose text ends with `remedy`.
  void declare(const Callback& by, const std::string& metric,
               std::string_view remedy = "Give one of them another name.");
  bool is_declared(std::string_view metric) const { return declared_.contains(metric); }
  // To be called in before_train(), by a callback `by` that waits for the metric. Throws, with the nearest names, if no
  // callback will put it: if all say that they declare what they put (Callback::declares_metrics()), or if the name is
  // so close to that of a declared metric that it is probably a typing error. Otherwise a callback that declares
  // nothing may put it, and the log says which.
  void expect(const Callback& by, const std::string& metric) const;

  // The latest value; nothing if there is none.
  std::optional<double> latest(std::string_view name) const;
  struct Entry {
    std::int64_t step = 0;
    double value = 0;
    bool operator==(const Entry&) const = default;
  };
  // All values, the oldest first; empty if there is none.
  const std::vector<Entry>& history(std::string_view name) const;
  std::vector<std::string> names() const;  // of all metrics put so far, sorted

  // The history for a checkpoint, and back. The values themselves go to a file of the run, history.bin (see
  // Trainer::files_dir()), which every call extends, and the text says how far into it they are valid; without such a
  // directory they are in the text. Throws FileError if the file cannot be written. A file that is not there any more
  // is a warning: the history then begins anew.
  std::string state();
  void restore(const std::string& state);
  // The file that a checkpoint with the last state() needs; "" if there is none.
  std::string history_file() const;

  // For the trainer.
  void add(Handle<Monitor> monitor) { all_.push_back(std::move(monitor)); }
  const std::vector<Handle<Monitor>>& all() const { return all_; }

 private:
  void read_history(std::uint64_t bytes, std::uint32_t crc, const std::string& written_to);
  std::string silent_callbacks() const;  // those that may put undeclared metrics: "A or B"
  Trainer& trainer_;
  std::unique_ptr<HistoryFile> file_;
  std::vector<Handle<Monitor>> all_;
  std::map<std::string, std::vector<Entry>, std::less<>> history_;
  std::map<std::string, const Callback*, std::less<>> declared_;  // by whom
};

}  // namespace belfry
#pragma GCC visibility pop
