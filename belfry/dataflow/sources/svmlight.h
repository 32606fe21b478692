// SVMLight's and LIBSVM's text format: sparse features and a label in each line.
//
//   +1 3:0.5 17:1 # a comment
//   -1 qid:4 1:2.5e-3
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "belfry/dataflow/flow.h"
#include "belfry/dataflow/sources/byte_source.h"

#pragma GCC visibility push(default)
namespace belfry {

struct SvmlightOptions {
  std::optional<std::int64_t> features = std::nullopt;  // by default as many as the largest index in the file says
  bool zero_based = false;                              // the first feature is 0, not 1
  DType label = f32;                                    // or i32, for whole numbers
  bool multilabel = false;                              // labels are lists of classes: "0,3,4 1:0.5"
  std::optional<std::int64_t> classes = std::nullopt;   // of multilabel; by default up to the largest in the file
  // A gzipped file that unpacks to more is refused.
  std::int64_t max_unpacked_bytes = kMaxUnpackedBytes;
};

// Points are {features f32 [features], label []}; with multilabel the label is f32 [classes], 1 where the line names
// the class. Empty lines and comments are skipped, qid is read over. Plain or gzipped; kept sparse, and random access.
// Lines that say something else are FileErrors that name the line.
Flow from_svmlight(const std::string& path, SvmlightOptions options = {});

}  // namespace belfry
#pragma GCC visibility pop
