// Logs the numbers of an epoch.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "belfry/loop/monitors.h"

#pragma GCC visibility push(default)
namespace belfry {

struct ScalarPrinterOptions {
  std::vector<std::string> only{};    // regular expressions, one of which has to match the whole name; empty: all
  std::vector<std::string> except{};  // the same for names that are not printed; empty: none
  bool every_step = false;            // also print what was put in a step, right after it
};

// At each trigger, one line for every scalar that was put since the last one, by name.
class ScalarPrinter final : public Monitor {
 public:
  explicit ScalarPrinter(ScalarPrinterOptions options = {}) : options_(std::move(options)) {}
  void put_scalar(const std::string& name, double value, std::int64_t step) override;
  void setup_graph() override;
  void trigger_step() override;
  void trigger() override;
  void after_train() override { trigger(); }  // what was put in an unfinished epoch
  std::string state() const override;
  void restore(const std::string& state) override;

 private:
  ScalarPrinterOptions options_;
  std::map<std::string, double> values_;  // put since the last trigger
};

}  // namespace belfry
#pragma GCC visibility pop
