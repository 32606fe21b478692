#include "belfry/session/internal/tf/snappy.h"

#include <cstdint>

#include "belfry/base/check.h"
#include "belfry/base/internal/protobuf_wire.h"

namespace belfry {
namespace {

constexpr std::size_t kMostExpansion = 22;  // a copy of 64 bytes takes three

class Unpacking {
 public:
  Unpacking(std::string_view packed, std::string_view where)
      : left_(packed), where_(where), size_(take_varint(left_, where)) {
    BELFRY_CHECK_AS(FileError, size_ / kMostExpansion <= left_.size(),
                    "[snappy] expected at most {} bytes from the {} of {}, got a length of {}. It is damaged.",
                    kMostExpansion * left_.size(), left_.size(), where, size_);
    out_.reserve(size_);
  }

  std::string result() {
    while (!left_.empty()) element();
    BELFRY_CHECK_AS(FileError, out_.size() == size_, "[snappy] expected {} bytes of {}, got {}. It is cut off.", size_,
                    where_, out_.size());
    return std::move(out_);
  }

 private:
  // The low two bits of a tag are the kind of element.
  void element() {
    const std::uint64_t tag = number(1), high = tag >> 2;
    switch (tag & 3) {
      case 0: return literal(high < 60 ? high + 1 : number(high - 59) + 1);
      case 1: return copy(4 + (high & 7), high >> 3 << 8 | number(1));
      case 2: return copy(high + 1, number(2));
      default: return copy(high + 1, number(4));
    }
  }

  void literal(std::uint64_t length) {
    need(length);
    out_.append(take(length));
  }

  void copy(std::uint64_t length, std::uint64_t offset) {
    need(length);
    BELFRY_CHECK_AS(FileError, offset >= 1 && offset <= out_.size(),
                    "[snappy] expected a copy from within the {} bytes before it in {}, got an offset of {}. It is "
                    "damaged.",
                    out_.size(), where_, offset);
    for (; length > 0; --length) out_ += out_[out_.size() - offset];
  }

  void need(std::uint64_t length) const {
    BELFRY_CHECK_AS(FileError, length <= size_ - out_.size(),
                    "[snappy] expected {} bytes of {}, got more. It is damaged.", size_, where_);
  }

  std::string_view take(std::uint64_t count) {
    BELFRY_CHECK_AS(FileError, count <= left_.size(),
                    "[snappy] expected {} more byte(s) of {}, got {}. It is cut off or damaged.", count, where_,
                    left_.size());
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }

  std::uint64_t number(std::uint64_t bytes) {  // little-endian
    std::uint64_t value = 0;
    int shift = 0;
    for (const char byte : take(bytes)) {
      value |= std::uint64_t{static_cast<std::uint8_t>(byte)} << shift;
      shift += 8;
    }
    return value;
  }

  std::string_view left_, where_;
  std::uint64_t size_;
  std::string out_;
};

}  // namespace

std::string unpack_snappy(std::string_view packed, std::string_view where) { return Unpacking(packed, where).result(); }

}  // namespace belfry
