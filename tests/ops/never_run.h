// Which ops no device has to compute.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "belfry/engine/testing/test_backend.h"

namespace belfry {

// Ops that never reach a backend, and why. They have a row as any other, so what they mean is right on any device; that
// they are still not run there is tested too.
inline const std::map<std::string, std::string>& never_run() {
  static constexpr const char *kGiven = "a part is given its value: there is nothing to run",
                              *kFolded = "planning computes it", *kPassed = "planning replaces it by its input";
  static const std::map<std::string, std::string> reasons{{"Constant", kGiven},
                                                          {"CustomGradient", kPassed},
                                                          {"Identity", kPassed},
                                                          {"MatchSizes", kPassed},
                                                          {"NoOp", "it does nothing, and is done when others are"},
                                                          {"OfShape", "it lends its shape, and is never computed"},
                                                          {"Placeholder", kGiven},
                                                          {"PlaceholderWithDefault", kPassed},
                                                          {"QueueTake", kGiven},
                                                          {"ReducedCount", kFolded},
                                                          {"ReshapeLike", "planning makes it a Reshape"},
                                                          {"ShapeOf", kFolded},
                                                          {"SizeOf", kFolded},
                                                          {"StopGradient", kPassed},
                                                          {"Variable", kGiven}};
  return reasons;
}

// After the rows of an op: a test device has run it, unless none ever does.
inline void expect_that_it_ran(const std::string& op) {
  const bool ran = ops_run_on_test_devices().contains(op);
  const auto exempt = never_run().find(op);
  if (exempt == never_run().end()) {
    EXPECT_TRUE(ran) << op << " did not run on a test device";
  } else {
    EXPECT_FALSE(ran) << op << " runs on devices: take it out of never_run(), which says: " << exempt->second;
  }
}

}  // namespace belfry
