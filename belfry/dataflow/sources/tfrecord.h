// TFRecord files: records of bytes, each with its length and checksums of both.
//
//   Flow images = from_tfrecord({"a.tfrecord", "b.tfrecord"}, {.features = {"image", "label"}});
//   write_tfrecord(flow, "points.tfrecord", {.encode = true});
//   Flow again = from_tfrecord("points.tfrecord", {.decode = true});
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

struct TFRecordOptions {
  // What records hold: by default a point is {u8 [n]}, the record as it is.
  bool decode = false;  // points that write_tfrecord() stored with .encode
  std::vector<std::string> features =
      {};  // tf.train.Examples: a point has these features, in this order; see example.h
};

// The records of the files, one file after the other. Plain files restore their position without reading anything
// again; gzipped ones are unpacked up to it. A file that cannot be opened is a FileError at once; a record that is cut
// off or damaged, when it is read: it names file, record and byte, and next() would find it again.
Flow from_tfrecord(std::vector<std::string> paths, TFRecordOptions options = {});
template <std::convertible_to<std::string> Path>
Flow from_tfrecord(const Path& path, TFRecordOptions options = {}) {
  return from_tfrecord(std::vector<std::string>{std::string(path)}, std::move(options));
}

// Writes a file that appears under its name with finish(), whole; without it what was there before stays.
class TFRecordWriter {
 public:
  explicit TFRecordWriter(const std::string& path);
  ~TFRecordWriter();
  TFRecordWriter(const TFRecordWriter&) = delete;
  TFRecordWriter& operator=(const TFRecordWriter&) = delete;

  void write(std::span<const std::byte> record);
  void write(std::string_view record);
  std::int64_t records() const { return records_; }
  void finish();

 private:
  struct File;
  std::unique_ptr<File> file_;
  std::int64_t records_ = 0;
};

struct WriteTFRecordOptions {
  // What is stored of a point: by default the bytes of its one component, which is u8 [n].
  bool encode = false;                     // the whole point, for .decode
  std::vector<std::string> features = {};  // its components as a tf.train.Example, under these names
};

// One pass of the flow, epoch 0, with a TFRecordWriter. Returns the number of records.
std::int64_t write_tfrecord(Flow flow, const std::string& path, const WriteTFRecordOptions& options = {});

}  // namespace belfry
#pragma GCC visibility pop
