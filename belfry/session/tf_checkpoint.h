// Checkpoints that TensorFlow 1 and 2 write (PREFIX.index and PREFIX.data-00000-of-00001), the format in which
// Tensorpack's models are published, as arrays by name.
//
//   for (const auto& [name, array] : read_tf_checkpoint("train_log/resnet/model-375000")) ...
//   TfRestore("train_log/resnet").init(session);  // tf_restore.h
//
// A path is PREFIX, one of its files, or a directory: there, the file "checkpoint" names the latest one.
//
// Names are TensorFlow's, without a ":0" at the end. Those of TensorFlow 2's objects lose
// "/.ATTRIBUTES/VARIABLE_VALUE", and what it writes for a dot or a slash within a part of a name (".." and ".S")
// becomes one again.
//
// float, double, int32, int64, uint8 and bool stay as they are; half and bfloat16 become f32, int8, int16 and uint16
// i32, uint32 i64. A variable that was saved in parts is put together.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "belfry/array/array.h"

#pragma GCC visibility push(default)
namespace belfry {

struct TfTensor {
  std::string name;              // as read_tf_checkpoint() gives it
  std::string key;               // as the file has it
  std::string type;              // as TensorFlow has it: "float", "bfloat16", "string"
  Shape shape{};                 // a scalar's if there are more axes than Belfry has
  std::uint64_t bytes = 0;       // in the data files
  std::optional<DType> dtype{};  // what it is read as; none if it cannot be
  std::string reason{};          // why it cannot be read
};

// What is in it, in the order of the keys. Only the index is read.
std::vector<TfTensor> list_tf_checkpoint(const std::string& path);

// What can be read; a line in the log names the rest (texts, such as TensorFlow 2's description of its objects). All
// checksums are verified; FileError on whatever does not add up. Memory for an array never exceeds what its bytes in
// the file become. The arrays may share a mapping of the files, which must not be changed in place while they live.
std::map<std::string, Array> read_tf_checkpoint(const std::string& path);

}  // namespace belfry
#pragma GCC visibility pop
