// What the tests of `belfry ls` and its relatives share.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "belfry/session/checkpoint_writer.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

namespace belfry::tools {

using Tensors = std::map<std::string, Array>;

// A checkpoint of one layer with its optimizer's slot; returns its path.
inline std::string put_checkpoint(const std::string& directory, std::int64_t step, const Tensors& tensors) {
  CheckpointState state{.epoch = step / 100, .versions = {{"belfry", "0.1.0"}}};
  for (const auto& [name, array] : tensors)
    if (name.find("Adam") == std::string::npos) state.model.push_back(name);
  return CheckpointWriter({.directory = directory}).write(step, tensors, state);
}

inline Tensors layer(float weight) {
  return {{"fc/W", Array::of<float>({2, 2}, {weight, 1, 2, 3})},
          {"fc/b", Array::of<float>({2}, {0, weight})},
          {"fc/W/Adam/m", Array::of<float>({2, 2}, {0, 0, 0, weight})},
          {"seen", Array(std::int64_t{5})}};
}

// What `action` prints to stdout.
template <class Action>
std::string printed_by(Action&& action) {
  testing::internal::CaptureStdout();
  std::forward<Action>(action)();
  return testing::internal::GetCapturedStdout();
}

}  // namespace belfry::tools
