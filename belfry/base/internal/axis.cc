#include "belfry/base/internal/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace belfry {
namespace {

// The smallest of 1, 2 and 5 times a power of ten that divides the range into at most `most` steps.
double nice_step(double range, int most) {
  const double raw = range / most, power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= raw * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

std::vector<double> linear_ticks(double low, double high, const AxisOptions& options) {
  double step = nice_step(high - low, std::max(options.most_ticks - 1, 1));
  if (options.whole) step = std::max(step, 1.0);
  std::vector<double> out;
  const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  // Beyond 2^53 steps from 0 there are no numbers for them.
  constexpr double kMost = 9007199254740992.0;
  if (!(std::abs(first) < kMost && std::abs(last) < kMost)) return out;
  for (double i = first; i <= last; ++i) out.push_back(i == 0 ? 0.0 : i * step);
  return out;
}

// `factors` times every n-th power of ten.
std::vector<double> powers_of_ten(double low, double high, int every, const std::vector<double>& factors) {
  std::vector<double> out;
  const double first = std::floor(std::log10(low)), last = std::ceil(std::log10(high));
  for (double power = first; power <= last; ++power)
    for (const double factor : factors) {
      const double tick = factor * std::pow(10.0, power);
      const bool is_inside = tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9);
      if (is_inside && static_cast<int>(power) % every == 0) out.push_back(tick);
    }
  return out;
}

// As many of them as there is room for.
std::vector<double> logarithmic_ticks(double low, double high, const AxisOptions& options) {
  const auto fits = [&](const std::vector<double>& ticks) { return std::ssize(ticks) <= options.most_ticks; };
  for (const std::vector<double>& factors : {std::vector{1.0, 2.0, 5.0}, std::vector{1.0, 3.0}, std::vector{1.0}})
    if (auto ticks = powers_of_ten(low, high, 1, factors); fits(ticks)) return ticks;
  int every = 2;
  while (!fits(powers_of_ten(low, high, every, {1.0}))) ++every;
  return powers_of_ten(low, high, every, {1.0});
}

}  // namespace

double Axis::place(double value) const {
  if (logarithmic) return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
  // Half of each: their difference may not fit a double.
  return (value / 2 - low / 2) / (high / 2 - low / 2);
}

std::string Axis::text_of(double tick) const {
  if (tick == 0) return "0";
  const double size = std::abs(tick);
  double largest = 0, step = size;
  for (const double t : ticks) largest = std::max(largest, std::abs(t));
  if (ticks.size() > 1 && !logarithmic) step = ticks[1] - ticks[0];
  if (largest >= 1e9 || step < 1e-4 || size < 1e-4) return fmt::format("{:.6g}", tick);
  if (!logarithmic && largest >= 1e6 && step >= 1e5) return fmt::format("{:g}M", tick / 1e6);
  if (largest >= 1e4 && step >= 100) return fmt::format("{:g}k", tick / 1e3);
  if (logarithmic) return fmt::format("{:g}", tick);
  return fmt::format("{:.{}f}", tick, std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9))));
}

Axis make_axis(double least, double most, const AxisOptions& options) {
  Axis out{.low = least, .high = most, .logarithmic = options.logarithmic};
  if (options.logarithmic) {
    const double factor = least == most ? 2 : std::pow(10.0, (std::log10(most) - std::log10(least)) * options.margin);
    out.low = std::max(out.low / factor, std::numeric_limits<double>::min());
    out.high = std::min(out.high * factor, std::numeric_limits<double>::max());
    out.ticks = logarithmic_ticks(out.low, out.high, options);
    if (out.ticks.size() < 2) out.ticks = linear_ticks(out.low, out.high, options);
    return out;
  }
  double margin = most * options.margin - least * options.margin;
  if (least == most) margin = least == 0 ? 1 : std::abs(least) * 0.1;
  constexpr double kLargest = std::numeric_limits<double>::max();
  out.low = std::max(out.low - margin, -kLargest);
  out.high = std::min(out.high + margin, kLargest);
  out.ticks = linear_ticks(out.low, out.high, options);
  return out;
}

}  // namespace belfry
