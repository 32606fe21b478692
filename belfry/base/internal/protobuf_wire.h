// The little of protobuf's wire format that TensorFlow's files need: varints, fixed numbers and length-delimited
// fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace belfry {

// Walks over the fields of one message. Every length is checked before it is used; FileError names `where`.
//
//   for (WireReader fields(bytes, where); fields.next();)
//     if (fields.is(1, WireReader::kBytes)) use(fields.bytes());
class WireReader {
 public:
  enum Type : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  WireReader(std::string_view message, std::string_view where) : left_(message), where_(where) {}

  bool next();  // to the next field; false at the end
  bool is(std::uint64_t field, Type type) const { return field_ == field && type_ == type; }
  // The value of the field, depending on its type. A fixed number is given as its 4 or 8 bytes.
  std::uint64_t number() const { return number_; }
  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view take(std::uint64_t count);

  std::string_view left_, where_;
  std::uint64_t field_ = 0, type_ = 0, number_ = 0;
  std::string_view bytes_;
};

// Takes a varint off the front.
std::uint64_t take_varint(std::string_view& bytes, std::string_view where);

void add_varint(std::string& to, std::uint64_t value);
void add_field(std::string& to, std::uint64_t field, std::string_view bytes);  // length-delimited

}  // namespace belfry
#pragma GCC visibility pop
