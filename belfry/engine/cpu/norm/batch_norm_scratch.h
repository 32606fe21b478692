// Scratch memory of the batch norm kernels: separate for each part of the work.
#pragma once

#include <cstddef>

#include "belfry/engine/cpu/lanes/lane_plan.h"

namespace belfry {

struct BatchNormScratch {
  static constexpr int kTables = 6;

  double* first;           // a value for each channel, padding included
  double* second;          // another
  double* group_first;     // a value for each channel of one group
  double* group_second;    // another
  float* tables[kTables];  // by lane

  static std::size_t bytes(const LanePlan& plan) {
    return 2 * (doubles(plan.view().padded_channels()) + doubles(plan.view().inner)) +
           kTables * static_cast<std::size_t>(plan.table_floats()) * sizeof(float);
  }

  BatchNormScratch(const LanePlan& plan, void* scratch, int part) {
    std::byte* at = align_scratch(scratch) + static_cast<std::size_t>(part) * bytes(plan);
    const auto take = [&](std::int64_t count) {
      double* taken = reinterpret_cast<double*>(at);
      at += doubles(count);
      return taken;
    };
    first = take(plan.view().padded_channels());
    second = take(plan.view().padded_channels());
    group_first = take(plan.view().inner);
    group_second = take(plan.view().inner);
    float* table = reinterpret_cast<float*>(at);
    for (float*& t : tables) t = table, table += plan.table_floats();
  }

 private:
  static std::size_t doubles(std::int64_t count) {
    return cache_lines(static_cast<std::size_t>(count) * sizeof(double));
  }
};

inline float value_or(const float* values, std::int64_t i, float otherwise) { return values ? values[i] : otherwise; }

}  // namespace belfry
