// The axis of a picture of numbers: which range it shows, and where its marks are.
#pragma once

#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace belfry {

struct Axis {
  double low = 0, high = 1;
  bool logarithmic = false;
  std::vector<double> ticks{};  // round numbers between low and high

  double place(double value) const;        // 0 at low, 1 at high
  std::string text_of(double tick) const;  // as many digits as tell the ticks apart: "0.25", "20k", "1e-05"
};

struct AxisOptions {
  int most_ticks = 6;
  bool logarithmic = false;  // takes values above 0 only
  bool whole = false;        // ticks at whole numbers only
  double margin = 0.05;      // of the range, left free on both sides
};

// For values from `least` to `most`, which are finite and may be equal.
Axis make_axis(double least, double most, const AxisOptions& options);

}  // namespace belfry
#pragma GCC visibility pop
