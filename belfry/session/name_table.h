// NameTable: which name of a file belongs to which variable of the graph, for weights that another program made.
//
//   SaverRestore("resnet.safetensors", {.names = {{"conv(\\d+)\\.weight", "conv$1/W"},
//                                                 {"fc\\.weight", "fc/W", "chw 32x7x7"},
//                                                 {".*\\.num_batches_tracked", "-"}},
//                                       .layout = WeightLayout::pytorch})
//
// The same as a text file, for NameTable::from_file():
//
//   # theirs                      ours       : rule
//   conv(\d+)\.weight          -> conv$1/W
//   fc\.weight                 -> fc/W       : chw 32x7x7
//   .*\.num_batches_tracked    -> -
//
// docs/weights.md lists the rules.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace belfry {

// Whose weights a file holds, which decides how they become ours: the rule for a variable follows from the layer that
// uses it. A row of a NameTable may name another rule.
enum class WeightLayout : std::uint8_t {
  belfry,       // as ours
  pytorch,      // torch.nn
  keras,        // Keras, TensorFlow 2
  tensorflow1,  // tf.layers, and the LSTM cells of tf.nn.rnn_cell
};

struct NameRow {
  // An ECMAScript regular expression that has to match a whole name of the file.
  std::string theirs{};
  // A variable's name, with $1 or ${1} for what group 1 matched, and $$ for a dollar sign. "a & b": the value is
  // divided between several. "-": the value is not used.
  std::string ours{};
  std::string rule{};  // none: the layout's
};

class NameTable {
 public:
  // Throws if a row is not valid.
  NameTable() = default;
  NameTable(std::initializer_list<NameRow> rows) : NameTable(std::vector<NameRow>(rows)) {}
  explicit NameTable(const std::vector<NameRow>& rows);
  // One row on each line; empty lines and those that begin with # are skipped.
  static NameTable from_file(const std::string& path);

  bool empty() const { return rows_.empty(); }

  // Internal: the first row that matches decides.
  class Row;
  const std::vector<std::shared_ptr<const Row>>& rows() const { return rows_; }

 private:
  void add(const NameRow& row, const std::string& place);

  std::vector<std::shared_ptr<const Row>> rows_;
};

}  // namespace belfry
#pragma GCC visibility pop
