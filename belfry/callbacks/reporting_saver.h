// ReportingSaver: a Saver in a training, for callbacks that save. A failed save is an error in the log and a metric,
// failed_saves/<prefix> (how many so far), as soon as a step ends after it; `max_failures` in a row end training.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "belfry/session/saver.h"

#pragma GCC visibility push(default)
namespace belfry {

class Trainer;

class ReportingSaver {
 public:
  // To be called before one is made: throws if these are not valid, and touches nothing.
  static void check(const std::string& name, const SaverOptions& options, int max_failures);

  // Borrows the trainer. `name` begins messages.
  ReportingSaver(Trainer& trainer, std::string name, SaverOptions options, int max_failures);

  // Saves the training as it is now, and `notes` with it. These three throw when the number of failures in a row
  // reaches max_failures.
  void save(const std::map<std::string, std::string>& notes = {});
  void look();  // without waiting
  void wait();
  // Waits, and throws if the last save failed, whatever max_failures is: no later save will make up for it.
  void finish();

  std::string last();                                // the path of the last checkpoint that it keeps, if any; waits
  bool has_saved(std::int64_t step);                 // whether it keeps that checkpoint; waits
  bool is_writing() const { return pending_; }       // as far as these calls have seen
  bool has_failed() const { return in_a_row_ > 0; }  // the last save that was seen to end

 private:
  void report(const std::string& problem);
  Trainer& trainer_;
  std::string name_, prefix_, metric_;
  int max_failures_;
  int in_a_row_ = 0, all_ = 0;
  bool pending_ = false;  // a save whose end has not been seen
  Saver saver_;
};

}  // namespace belfry
#pragma GCC visibility pop
