// The lines of an SVMLight file as sparse rows. For svmlight.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/dataflow/sources/svmlight.h"

namespace belfry {

struct SparseRows {
  std::vector<double> labels;              // one per row; with multilabel, those of all rows one after the other
  std::vector<std::size_t> label_ends{0};  // multilabel: row i has labels [label_ends[i], label_ends[i + 1])
  std::vector<std::size_t> ends{0};        // row i has entries [ends[i], ends[i + 1])
  std::vector<std::int64_t> columns;       // counted from 0, rising within a row
  std::vector<float> values;
  std::int64_t features = 0, classes = 0;  // one more than the largest that was seen

  std::size_t rows() const { return ends.size() - 1; }
};

// Throws FileError, naming `path` and the line.
SparseRows parse_svmlight(std::string_view text, const std::string& path, const SvmlightOptions& options);

}  // namespace belfry
