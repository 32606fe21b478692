// The messages between send_points() and from_remote(), each of one part:
//
//   "BPM1"  u32 kind  u64 sender  u64 pass  u64 index  payload
//
// Numbers are little-endian. `sender` is a random number that tells senders apart; `index` counts the points of the
// sender's pass, so that a lost one is noticed: that of the point, or the number of points at an end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace belfry {

enum class WireKind : std::uint32_t {
  point = 1,        // payload: the point, as encoding.h has it
  end_of_pass = 2,  // another will follow
  end = 3,          // of the last pass; the receiver answers with `received`
  error = 4,        // payload: a text; the sender ends, and is answered too
  received = 5,     // from the receiver to the sender: all was taken
};

struct WireHeader {
  WireKind kind = WireKind::point;
  std::uint64_t sender = 0, pass = 0, index = 0;
};
inline constexpr std::size_t kWireHeaderBytes = 32;
inline constexpr std::size_t kMaxWireText = 4096;

struct WireMessage {
  WireHeader header;
  std::span<const std::byte> payload;
};

void write_wire_header(const WireHeader& header, std::span<std::byte> to);
// Throws FileError on anything else; `where` names whose message it is. The payload of a point is not looked at.
WireMessage parse_wire_message(std::span<const std::byte> bytes, std::string_view where);

}  // namespace belfry
