// What tests of callbacks share: a training whose cost is the number of the step.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "belfry/loop/run_op.h"
#include "belfry/loop/trainer.h"
#include "tests/session/session_testing.h"
#include "tests/support/files.h"

namespace belfry::testing_support {

class CallbacksTest : public GraphTest {
 protected:
  Variable count = var("count", Array(0.f));
  Tensor counted = count.assign_add(1.f);  // 1, 2, 3, ... in the steps
  TempDir temp;
  const std::string& directory = temp.path();

  // Three epochs of two steps.
  void run(Trainer& trainer, Callbacks callbacks, std::vector<Handle<Monitor>> monitors = {}) {
    if (!trainer.train_op) trainer.train_op = Operation(counted.node());
    trainer.train({.callbacks = std::move(callbacks),
                   .monitors = std::move(monitors),
                   .steps_per_epoch = 2,
                   .max_epoch = 3,
                   .run_dir = directory});
  }
  static std::vector<double> values(Trainer& trainer, const char* name) {
    std::vector<double> out;
    for (const Monitors::Entry& e : trainer.monitors().history(name)) out.push_back(e.value);
    return out;
  }
};

}  // namespace belfry::testing_support
