// The numbers of an epoch, as lines in the log.
#pragma once

#include <map>
#include <string>

#include "belfry/loop/monitors.h"

namespace belfry {

struct ScalarPrinterOptions {
  std::string only{};  // a regular expression that a whole name matches; empty: all
};

// At each trigger, one line for every scalar that was put since the last one, by name.
class ScalarPrinter final : public Monitor {
 public:
  explicit ScalarPrinter(ScalarPrinterOptions options = {}) : options_(std::move(options)) {}
  void put_scalar(const std::string& name, double value, std::int64_t step) override;
  void setup_graph() override;
  void trigger() override;

 private:
  ScalarPrinterOptions options_;
  std::map<std::string, double> values_;
};

}  // namespace belfry
