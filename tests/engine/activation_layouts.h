// For tests of kernels over activations: the same logical values [N][C][rows] in every physical layout.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/cpu/lanes/activation_view.h"

namespace belfry::activation_testing {

struct ActivationLayout {
  std::string name;
  ActivationView view;

  std::int64_t at(std::int64_t n, std::int64_t c, std::int64_t row) const {
    return ((n * view.groups + c / view.inner) * view.rows + row) * view.inner + c % view.inner;
  }
};

inline std::vector<ActivationLayout> layouts(std::int64_t n, std::int64_t channels, std::int64_t rows) {
  std::vector<ActivationLayout> result;
  for (const std::int64_t block : {16, 8}) {
    result.push_back(
        {"nChw" + std::to_string(block) + "c", {n, (channels + block - 1) / block, rows, block, channels}});
  }
  result.push_back({"NHWC", {n, 1, rows, channels, channels}});
  result.push_back({"NCHW", {n, channels, rows, 1, channels}});
  return result;
}

// Numbers that repeat in every run, between -1 and 1.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 2654435761u + 1) {}
  float next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(static_cast<std::int64_t>(state_ >> 33) - (1ll << 30)) / static_cast<float>(1ll << 30);
  }
  std::vector<float> many(std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& v : values) v = next();
    return values;
  }

 private:
  std::uint64_t state_;
};

constexpr float kPoison = -7e7f;

// Logical values [N][C][rows] put into a layout, with zeros as padding.
inline std::vector<float> pack(const ActivationLayout& layout, const std::vector<float>& logical) {
  const ActivationView& v = layout.view;
  std::vector<float> result(static_cast<std::size_t>(v.elements()), 0.f);
  std::size_t i = 0;
  for (std::int64_t n = 0; n < v.outer; ++n) {
    for (std::int64_t c = 0; c < v.channels; ++c) {
      for (std::int64_t r = 0; r < v.rows; ++r) result[static_cast<std::size_t>(layout.at(n, c, r))] = logical[i++];
    }
  }
  return result;
}

// The other way round; fails where padding is not zero.
inline std::vector<float> unpack(const ActivationLayout& layout, const std::vector<float>& data) {
  const ActivationView& v = layout.view;
  std::vector<float> result;
  for (std::int64_t n = 0; n < v.outer; ++n) {
    for (std::int64_t c = 0; c < v.padded_channels(); ++c) {
      for (std::int64_t r = 0; r < v.rows; ++r) {
        const float value = data[static_cast<std::size_t>(layout.at(n, c, r))];
        if (c < v.channels) {
          result.push_back(value);
        } else if (value != 0.f) {
          ADD_FAILURE() << layout.name << ": padding of channel " << c << " is " << value;
          return result;
        }
      }
    }
  }
  return result;
}

inline std::vector<float> poisoned(const ActivationLayout& layout) {
  return std::vector<float>(static_cast<std::size_t>(layout.view.elements()), kPoison);
}

inline void expect_near(const std::vector<double>& expected, const std::vector<float>& got, double tolerance,
                        const std::string& what) {
  ASSERT_EQ(expected.size(), got.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double value = static_cast<double>(got[i]);
    if (std::abs(expected[i] - value) <= tolerance * (1 + std::abs(expected[i]))) continue;
    FAIL() << what << " [" << i << "]: expected " << expected[i] << ", got " << value;
  }
}

inline std::vector<Isa> instruction_sets() {
  std::vector<Isa> result = {Isa::avx2};
  if (cpu_supports(Isa::avx512)) result.push_back(Isa::avx512);
  return result;
}

inline std::string isa_name(Isa isa) { return isa == Isa::avx2 ? "avx2" : "avx512"; }

// Calls body(isa, what) for each instruction set, with teams of one and of two threads.
template <class Body>
void for_each_machine(Body body) {
  for (const Isa isa : instruction_sets()) {
    for (const int threads : {1, 2}) {
      const TeamScope team(threads);
      body(isa, isa_name(isa) + ", " + std::to_string(threads) + " threads");
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace belfry::activation_testing
