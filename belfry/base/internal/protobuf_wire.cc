#include "belfry/base/internal/protobuf_wire.h"

#include "belfry/base/check.h"

namespace belfry {

std::uint64_t take_varint(std::string_view& bytes, std::string_view where) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    BELFRY_CHECK_AS(FileError, !bytes.empty(),
                    "[protobuf] expected the rest of a number in {}, got the end. It is cut off or damaged.", where);
    const auto byte = static_cast<std::uint8_t>(bytes[0]);
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  fail<FileError>("[protobuf] expected numbers of at most 10 bytes in {}, got a longer one. It is damaged.", where);
}

std::string_view WireReader::take(std::uint64_t count) {
  BELFRY_CHECK_AS(FileError, count <= left_.size(),
                  "[protobuf] expected {} byte(s) of field {} in {}, got {}. It is cut off or damaged.", count, field_,
                  where_, left_.size());
  const std::string_view taken = left_.substr(0, count);
  left_.remove_prefix(count);
  return taken;
}

bool WireReader::next() {
  if (left_.empty()) return false;
  const std::uint64_t tag = take_varint(left_, where_);
  field_ = tag >> 3;
  type_ = tag & 7;
  switch (type_) {
    case kVarint: number_ = take_varint(left_, where_); break;
    case kFixed64: bytes_ = take(8); break;
    case kFixed32: bytes_ = take(4); break;
    case kBytes: bytes_ = take(take_varint(left_, where_)); break;
    default:
      fail<FileError>(
          "[protobuf] expected a field of wire type 0, 1, 2 or 5 in {}, got {}. It is damaged, or something else.",
          where_, type_);
  }
  return true;
}

void add_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

void add_field(std::string& to, std::uint64_t field, std::string_view bytes) {
  add_varint(to, field << 3 | WireReader::kBytes);
  add_varint(to, bytes.size());
  to += bytes;
}

}  // namespace belfry
