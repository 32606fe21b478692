// Callbacks that change a number while training: a learning rate, say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belfry/graph/variable.h"
#include "belfry/loop/callback.h"

#pragma GCC visibility push(default)
namespace belfry {

// The base: sets a scalar variable, named as in hyper_param(), to what value_to_set() returns.
class HyperParamSetter : public Callback {
 public:
  explicit HyperParamSetter(std::string parameter) : parameter_(std::move(parameter)) {}
  void setup_graph() override;
  // Here a schedule sets the value that training begins or continues with.
  void before_train() override { set(); }
  void trigger() override { set(); }
  bool declares_metrics() const override { return true; }
  bool chief_only() const override { return false; }  // every process has its own copy

 protected:
  // Nothing: the value is not changed.
  virtual std::optional<double> value_to_set() = 0;
  double current_value() const;
  void set();

 private:
  std::string parameter_;
  Variable variable_;
  int logged_epoch_ = -1;
};

struct ScheduleOptions {
  bool linear = false;      // interpolate between the points of the schedule
  bool step_based = false;  // the schedule counts global steps instead of epochs
};

// {{8, 1e-4f}}: the value is 1e-4 once epoch 8 is finished, from epoch 9 on. A point at 0 is the initial value; before
// the first point the value is not changed. A training that begins later (starting_epoch) begins with the value of the
// last point before. Between two points the value is not touched: it stays as others have set it.
class ScheduledHyperParamSetter final : public HyperParamSetter {
 public:
  using Schedule = std::vector<std::pair<std::int64_t, double>>;
  ScheduledHyperParamSetter(std::string parameter, Schedule schedule, ScheduleOptions options = {});
  void trigger_epoch() override;
  void trigger_step() override;
  std::string state() const override;
  void restore(const std::string& state) override;

 protected:
  std::optional<double> value_to_set() override;

 private:
  Schedule schedule_;  // by time
  ScheduleOptions options_;
  std::int64_t looked_ = -1;  // the time of the last check: points after it are new
};

}  // namespace belfry
#pragma GCC visibility pop
