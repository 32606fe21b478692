// A TFRecord file record by record: u64 length, u32 masked crc of it, the bytes, u32 masked crc of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "belfry/array/array.h"
#include "belfry/dataflow/sources/byte_source.h"

namespace belfry {

inline constexpr std::uint64_t kTFRecordHeaderBytes = 12;  // length and its checksum
inline constexpr std::uint64_t kTFRecordTrailerBytes = 4;  // the data's checksum

// Where a reader stands in its file.
struct TFRecordPosition {
  std::uint64_t offset = 0;  // in the (unpacked) file
  std::uint64_t record = 0;  // for messages
};

class TFRecordReader {
 public:
  // Opens the file and goes to a position, which is the start of a record or the end.
  TFRecordReader(std::string path, TFRecordPosition position);

  // The next record, u8 [n]; false at the end. After an error its position is undefined.
  bool read(Array& record);
  const TFRecordPosition& position() const { return position_; }
  std::string place() const;  // "record 3 of 'a.tfrecord', at byte 120"

 private:
  // Fills `to` with the part of a record that is called `what`.
  void fill(void* to, std::size_t bytes, const char* what);

  std::string path_;
  ByteSource file_;
  TFRecordPosition position_;
};

}  // namespace belfry
