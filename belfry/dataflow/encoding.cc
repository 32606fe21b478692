#include "belfry/dataflow/encoding.h"

#include <bit>
#include <cstring>

#include "belfry/base/check.h"

namespace belfry {
namespace {

static_assert(std::endian::native == std::endian::little, "the encoding is that of little-endian machines");

constexpr std::string_view kMagic = "BDP1";
// The codes of dtypes in the encoding: they stay as they are, whatever becomes of the enumeration.
constexpr DType kDTypes[] = {f32, f64, i32, i64, u8, boolean};

std::uint8_t code_of(DType dtype) {
  for (std::size_t i = 0; i < std::size(kDTypes); ++i)
    if (kDTypes[i] == dtype) return static_cast<std::uint8_t>(i);
  BELFRY_BUG_IF(true, "no code for dtype {}", name_of(dtype));
}

class Writer {
 public:
  explicit Writer(std::span<std::byte> to) : to_(to) {}
  void write(const void* data, std::size_t bytes) {
    BELFRY_BUG_IF(bytes > to_.size(), "the point's encoding is longer than encoded_bytes() says");
    if (bytes > 0) std::memcpy(to_.data(), data, bytes);
    to_ = to_.subspan(bytes);
  }
  template <class T>
  void number(T value) {
    write(&value, sizeof(T));
  }
  std::size_t left() const { return to_.size(); }

 private:
  std::span<std::byte> to_;
};

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  const std::byte* read(std::uint64_t count, std::string_view what) {
    BELFRY_CHECK_AS(FileError, count <= bytes_.size(),
                    "[decode] expected {} byte(s) of {} in {}, got {}. The datapoint is cut off or damaged.", count,
                    what, where_, bytes_.size());
    const std::byte* at = bytes_.data();
    bytes_ = bytes_.subspan(count);
    return at;
  }
  template <class T>
  T number(std::string_view what) {
    T value;
    std::memcpy(&value, read(sizeof(T), what), sizeof(T));
    return value;
  }
  std::size_t left() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  std::string_view where_;
};

Array read_component(Reader& reader, std::size_t index, std::string_view where) {
  const auto code = reader.number<std::uint8_t>("a dtype");
  BELFRY_CHECK_AS(FileError, code < std::size(kDTypes),
                  "[decode] expected a dtype from 0 to {} for component {} in {}, got {}. The datapoint is damaged.",
                  std::size(kDTypes) - 1, index, where, code);
  const auto rank = reader.number<std::uint8_t>("a rank");
  BELFRY_CHECK_AS(FileError, rank <= kMaxRank,
                  "[decode] expected a rank of at most {} for component {} in {}, got {}. The datapoint is damaged.",
                  kMaxRank, index, where, rank);
  Shape shape;
  for (int d = 0; d < rank; ++d) {
    const auto size = reader.number<std::int64_t>("a dimension");
    BELFRY_CHECK_AS(FileError, size >= 0,
                    "[decode] expected dimensions of 0 or more for component {} in {}, got {}. The datapoint is "
                    "damaged.",
                    index, where, size);
    shape.push_back(size);
  }
  const std::optional<std::uint64_t> bytes = checked_bytes(kDTypes[code], shape);
  BELFRY_CHECK_AS(
      FileError, bytes.has_value(),
      "[decode] expected a shape that fits memory for component {} in {}, got {}. The datapoint is damaged.", index,
      where, to_string(shape));
  const std::byte* elements = reader.read(*bytes, "elements");
  if (kDTypes[code] == boolean)  // any other byte would be undefined behaviour later
    for (std::uint64_t i = 0; i < *bytes; ++i)
      BELFRY_CHECK_AS(FileError, std::to_integer<int>(elements[i]) <= 1,
                      "[decode] expected 0 and 1 in component {}, a bool, in {}, got {}. The datapoint is damaged.",
                      index, where, std::to_integer<int>(elements[i]));
  Array out(kDTypes[code], shape);
  if (*bytes > 0) std::memcpy(out.raw(), elements, *bytes);
  return out;
}

}  // namespace

std::size_t encoded_bytes(const DataPoint& point) {
  std::size_t bytes = kMagic.size() + sizeof(std::uint32_t);
  for (const Array& component : point) bytes += 2 + component.shape().dims().size_bytes() + component.bytes();
  return bytes;
}

void encode_to(const DataPoint& point, std::span<std::byte> to) {
  Writer writer(to);
  writer.write(kMagic.data(), kMagic.size());
  writer.number(static_cast<std::uint32_t>(point.size()));
  for (const Array& component : point) {
    writer.number(code_of(component.dtype()));
    writer.number(static_cast<std::uint8_t>(component.shape().rank()));
    for (const std::int64_t size : component.shape()) writer.number(size);
    writer.write(component.raw(), component.bytes());
  }
  BELFRY_BUG_IF(writer.left() != 0, "the point's encoding is shorter than encoded_bytes() says");
}

std::string encode(const DataPoint& point) {
  std::string out(encoded_bytes(point), '\0');
  encode_to(point, std::as_writable_bytes(std::span(out)));
  return out;
}

DataPoint decode(std::span<const std::byte> bytes, std::string_view where) {
  Reader reader(bytes, where);
  BELFRY_CHECK_AS(FileError, std::memcmp(reader.read(kMagic.size(), "the mark"), kMagic.data(), kMagic.size()) == 0,
                  "[decode] expected a datapoint, which begins with '{}', in {}, got something else.", kMagic, where);
  const auto count = reader.number<std::uint32_t>("a number of components");
  DataPoint out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(read_component(reader, i, where));
  BELFRY_CHECK_AS(
      FileError, reader.left() == 0,
      "[decode] expected nothing after the {} component(s) in {}, got {} byte(s). The datapoint is damaged.", count,
      where, reader.left());
  return out;
}

DataPoint decode(std::string_view bytes, std::string_view where) {
  return decode(std::as_bytes(std::span(bytes)), where);
}

}  // namespace belfry
