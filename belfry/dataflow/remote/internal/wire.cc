#include "belfry/dataflow/remote/internal/wire.h"

#include <bit>
#include <cstring>

#include "belfry/base/check.h"

namespace belfry {
namespace {

static_assert(std::endian::native == std::endian::little, "messages are those of little-endian machines");

constexpr std::string_view kMagic = "BPM1";

// As the header lies in the message.
struct Layout {
  char magic[4];
  std::uint32_t kind;
  std::uint64_t sender, pass, index;
};
static_assert(sizeof(Layout) == kWireHeaderBytes);

}  // namespace

void write_wire_header(const WireHeader& header, std::span<std::byte> to) {
  BELFRY_BUG_IF(to.size() < kWireHeaderBytes, "a message of {} bytes", to.size());
  Layout layout{{}, static_cast<std::uint32_t>(header.kind), header.sender, header.pass, header.index};
  std::memcpy(layout.magic, kMagic.data(), kMagic.size());
  std::memcpy(to.data(), &layout, sizeof layout);
}

WireMessage parse_wire_message(std::span<const std::byte> bytes, std::string_view where) {
  Layout layout{};
  BELFRY_CHECK_AS(FileError, bytes.size() >= sizeof layout,
                  "[from_remote] expected a message of at least {} bytes in {}, got {}. Is the peer a send_points()?",
                  sizeof layout, where, bytes.size());
  std::memcpy(&layout, bytes.data(), sizeof layout);
  BELFRY_CHECK_AS(FileError, std::memcmp(layout.magic, kMagic.data(), kMagic.size()) == 0,
                  "[from_remote] expected a message that begins with '{}' in {}, got another. Is the peer a "
                  "send_points() of this version?",
                  kMagic, where);
  const auto last = static_cast<std::uint32_t>(WireKind::received);
  BELFRY_CHECK_AS(FileError, layout.kind >= 1 && layout.kind <= last,
                  "[from_remote] expected a message of kind 1 to {} in {}, got {}. The message is damaged.", last,
                  where, layout.kind);
  const WireMessage message{{static_cast<WireKind>(layout.kind), layout.sender, layout.pass, layout.index},
                            bytes.subspan(sizeof layout)};
  const std::size_t most = message.header.kind == WireKind::point   ? message.payload.size()
                           : message.header.kind == WireKind::error ? kMaxWireText
                                                                    : 0;
  BELFRY_CHECK_AS(FileError, message.payload.size() <= most,
                  "[from_remote] expected at most {} bytes after the header of a message of kind {} in {}, got {}. "
                  "The message is damaged.",
                  most, layout.kind, where, message.payload.size());
  return message;
}

}  // namespace belfry
