#include "tools/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "belfry/array/internal/dispatch.h"
#include "belfry/base/parallel.h"

namespace belfry::tools {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kLanes = 16;
constexpr std::int64_t kBlock = 4096;    // elements that stay in the first cache for the second look
constexpr std::int64_t kPiece = 131072;  // what a core takes at a time

// Independent sums and extremes side by side, which the compiler turns into vector code.
template <class T>
struct Lanes {
  std::array<T, kLanes> min, max;
  std::array<double, kLanes> sum{};
  std::array<std::int32_t, kLanes> nans{}, finite{}, zeros{};

  Lanes() {
    min.fill(std::numeric_limits<T>::max());
    max.fill(std::numeric_limits<T>::lowest());
  }

  void add(std::size_t lane, T x) {
    if constexpr (std::is_floating_point_v<T>) {
      const bool is_finite = x - x == T{0};
      nans[lane] += x != x;
      finite[lane] += is_finite;
      min[lane] = is_finite && x < min[lane] ? x : min[lane];
      max[lane] = is_finite && x > max[lane] ? x : max[lane];
      sum[lane] += static_cast<double>(is_finite ? x : T{0});
    } else {
      min[lane] = std::min(min[lane], x);
      max[lane] = std::max(max[lane], x);
      sum[lane] += static_cast<double>(x);
    }
    zeros[lane] += x == T{0};
  }
};

template <class T>
double squared_deviation(T x, double mean) {
  double deviation = static_cast<double>(x) - mean;
  if constexpr (std::is_floating_point_v<T>) deviation = x - x == T{0} ? deviation : 0.0;
  return deviation * deviation;
}

// At most kBlock elements.
template <class T>
Statistics of_block(std::span<const T> x) {
  const std::size_t whole = x.size() / kLanes * kLanes;
  Lanes<T> lanes;
  for (std::size_t i = 0; i < whole; i += kLanes)
    for (std::size_t k = 0; k < kLanes; ++k) lanes.add(k, x[i + k]);
  for (std::size_t i = whole; i < x.size(); ++i) lanes.add(i - whole, x[i]);

  Statistics out;
  double sum = 0;
  for (std::size_t k = 0; k < kLanes; ++k) {
    out.nans += lanes.nans[k];
    out.finite += lanes.finite[k];
    out.zeros += lanes.zeros[k];
    sum += lanes.sum[k];
  }
  const auto size = static_cast<std::int64_t>(x.size());
  if (!std::is_floating_point_v<T>) out.finite = size;
  out.infinities = size - out.finite - out.nans;
  if (out.finite == 0) return out;
  out.min = static_cast<double>(*std::ranges::min_element(lanes.min));
  out.max = static_cast<double>(*std::ranges::max_element(lanes.max));
  out.mean = sum / static_cast<double>(out.finite);

  std::array<double, kLanes> squares{};
  for (std::size_t i = 0; i < whole; i += kLanes)
    for (std::size_t k = 0; k < kLanes; ++k) squares[k] += squared_deviation(x[i + k], out.mean);
  for (std::size_t i = whole; i < x.size(); ++i) squares[i - whole] += squared_deviation(x[i], out.mean);
  for (const double s : squares) out.squares += s;
  return out;
}

// The statistics of two parts together: sums of squares around two means become one around the common mean.
Statistics joined(const Statistics& a, const Statistics& b) {
  Statistics out = a.finite == 0 ? b : a;
  if (a.finite > 0 && b.finite > 0) {
    const auto n = static_cast<double>(a.finite), m = static_cast<double>(b.finite);
    const double between = b.mean - a.mean;
    out.min = std::min(a.min, b.min);
    out.max = std::max(a.max, b.max);
    out.mean = a.mean + between * (m / (n + m));
    out.squares = a.squares + b.squares + between * between * (n * m / (n + m));
  }
  out.finite = a.finite + b.finite;
  out.nans = a.nans + b.nans;
  out.infinities = a.infinities + b.infinities;
  out.zeros = a.zeros + b.zeros;
  return out;
}

struct Piece {
  const Array* array = nullptr;
  std::int64_t begin = 0, end = 0;
  Statistics found{};
};

void look_at(Piece& piece) {
  dispatch(piece.array->dtype(), [&]<class T>() {
    // A boolean is a byte, 0 or 1.
    using Element = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
    const std::span<const Element> all(static_cast<const Element*>(piece.array->raw()),
                                       static_cast<std::size_t>(piece.end));
    for (std::int64_t at = piece.begin; at < piece.end; at += kBlock) {
      const std::int64_t count = std::min(kBlock, piece.end - at);
      piece.found =
          joined(piece.found, of_block(all.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count))));
    }
  });
}

}  // namespace

double Statistics::standard_deviation() const {
  return finite == 0 ? kNone : std::sqrt(squares / static_cast<double>(finite));
}

std::map<std::string, Statistics> statistics_of(const std::map<std::string, Array>& tensors) {
  std::vector<Piece> pieces;
  for (const auto& [name, array] : tensors)
    for (std::int64_t at = 0; at < array.elements(); at += kPiece)
      pieces.push_back({.array = &array, .begin = at, .end = std::min(at + kPiece, array.elements())});
  {
    const TeamScope team(hardware_threads());
    parallel_for(std::ssize(pieces), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) look_at(pieces[static_cast<std::size_t>(i)]);
    });
  }
  std::map<std::string, Statistics> out;
  auto piece = pieces.begin();
  for (const auto& [name, array] : tensors) {
    Statistics& all = out[name];
    for (; piece != pieces.end() && piece->array == &array; ++piece) all = joined(all, piece->found);
    if (all.finite == 0) all.min = all.max = all.mean = kNone;
  }
  return out;
}

}  // namespace belfry::tools
