// tf.train.Example: named features, what most TFRecord files hold. Read and written without protobuf.
//
//   bytes   u8 [n]; several values of one length: u8 [values, n]
//   float   f32 [values]
//   int64   i64 [values]
//
// An Example stores no other shapes: reshape the arrays as needed.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/dataflow/dataflow.h"

#pragma GCC visibility push(default)
namespace belfry {

// All features by name. Throws FileError on bytes that are not an Example, and on values that do not form an array;
// `where` says whose bytes they are: "record 3 of 'train.tfrecord'".
std::map<std::string, Array> decode_example(std::string_view bytes, std::string_view where);
// These features, in this order; a missing one is a FileError. Others are ignored.
DataPoint decode_example(std::string_view bytes, std::span<const std::string> features, std::string_view where);

// u8 becomes one value of bytes, f32 a list of float, i64, i32 and bool a list of int64; others are an Error. Shapes
// are not kept.
std::string encode_example(const std::map<std::string, Array>& features);

}  // namespace belfry
#pragma GCC visibility pop
