// The numbers of all epochs as a file that programs can read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "belfry/loop/monitors.h"

#pragma GCC visibility push(default)
namespace belfry {

// stats.json in the run's directory: a list with an object for each trigger (one line each), which holds "epoch_num",
// "global_step" and every scalar that was put since the last one. The file is replaced as a whole each time, so that it
// is always complete. JSON has no NaN or infinity: those are the strings "nan", "inf" and "-inf".
//
// A file that an earlier run left is renamed to stats.json.old (stats.json.old-2, ... if there is one), unless this run
// continues that one (restore()). A new run does not find one: see TrainOptions::run_dir.
//
// A failed write is an error in the log and a metric, failed_saves/stats.json, like that of a saver; the next one that
// succeeds has its lines too. `max_failures` in a row end training, and so does a failure of the last write.
class JSONWriter final : public Monitor {
 public:
  explicit JSONWriter(std::string file = "stats.json", int max_failures = 3)
      : file_(std::move(file)), max_failures_(max_failures) {}
  const std::string& file() const { return file_; }
  void put_scalar(const std::string& name, double value, std::int64_t step) override;
  void before_train() override;
  void trigger() override;
  void after_train() override;
  std::string state() const override;
  void restore(const std::string& state) override;
  std::vector<Written> writes() const override;

 private:
  void begin();
  void find_lines(std::size_t count, std::uint32_t crc);
  void add_line();
  void write();
  void write_or_report();
  std::string path() const;

  std::string file_;
  int max_failures_;
  int in_a_row_ = 0, failures_ = 0;
  std::map<std::string, double> values_;  // put since the last trigger
  std::vector<std::string> written_;      // the file's lines
  bool restored_ = false, began_ = false;
};

}  // namespace belfry
#pragma GCC visibility pop
