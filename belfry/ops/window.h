// What sliding windows have in common: their sizes, how borders are padded, where the channels are.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
namespace belfry {

// Height and width; one number means both.
struct Extent {
  std::int64_t height = 1, width = 1;
  constexpr Extent() = default;
  constexpr Extent(std::int64_t both) : height(both), width(both) {}  // NOLINT(google-explicit-constructor)
  constexpr Extent(std::int64_t h, std::int64_t w) : height(h), width(w) {}
  bool operator==(const Extent&) const = default;
};

struct Pads {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
  bool operator==(const Pads&) const = default;
};

// same: ceil(size / stride) outputs; the padding for that is split evenly, an odd one at the end, as in TensorFlow.
// valid: only windows that lie inside the image. explicit_: as given.
class Padding {
 public:
  enum class Kind : std::uint8_t { same, valid, explicit_ };
  static const Padding same, valid;
  static constexpr Padding explicit_(const Pads& pads) { return {Kind::explicit_, pads}; }

  Kind kind() const { return kind_; }
  const Pads& pads() const { return pads_; }
  bool operator==(const Padding&) const = default;

 private:
  constexpr Padding(Kind kind, const Pads& pads) : kind_(kind), pads_(pads) {}
  Kind kind_;
  Pads pads_;
};
inline constexpr Padding Padding::same{Kind::same, {}};
inline constexpr Padding Padding::valid{Kind::valid, {}};

enum class DataFormat : std::uint8_t { nhwc, nchw, channels_last = nhwc, channels_first = nchw };

}  // namespace belfry
#pragma GCC visibility pop
