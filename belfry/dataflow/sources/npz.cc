#include "belfry/dataflow/sources/npz.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "belfry/base/check.h"
#include "belfry/base/internal/quotes.h"
#include "belfry/dataflow/indexed_flow.h"

namespace belfry {
namespace {

// Arrays with equally many rows.
class RowsFlow final : public IndexedFlow {
 public:
  RowsFlow(const std::string& path, const std::vector<std::string>& names, std::vector<Array> arrays)
      : IndexedFlow(FlowIdentity{
            .kind = "npz", .parameters = {{"arrays", fmt::format("{}", fmt::join(names, ", "))}}, .place = path}),
        path_(path),
        rows_(arrays[0].shape()[0]) {
    for (Array& array : arrays) {
      spec_.push_back({array.dtype(), array.shape().without(0)});
      arrays_.push_back(std::make_shared<Array>(std::move(array)));
    }
  }

  std::int64_t count() const override { return rows_; }
  std::string describe() const override { return fmt::format("npz(\"{}\")", path_); }
  const std::vector<ComponentSpec>* row_spec() const override { return &spec_; }

  DataPoint at(std::int64_t index) const override {
    DataPoint point;
    for (std::size_t k = 0; k < arrays_.size(); ++k)
      point.emplace_back(spec_[k].dtype, spec_[k].shape, row(k, index), arrays_[k]);
    return point;
  }

  void read_row(std::int64_t index, std::span<void* const> rows) const override {
    for (std::size_t k = 0; k < rows.size(); ++k)
      if (row_bytes(k) > 0) std::memcpy(rows[k], row(k, index), row_bytes(k));
  }

 private:
  std::size_t row_bytes(std::size_t k) const { return arrays_[k]->bytes() / static_cast<std::size_t>(rows_); }
  std::byte* row(std::size_t k, std::int64_t index) const {
    BELFRY_BUG_IF(index < 0 || index >= rows_, "index {} of {} points", index, rows_);
    return static_cast<std::byte*>(arrays_[k]->raw()) + static_cast<std::size_t>(index) * row_bytes(k);
  }

  std::string path_;
  std::int64_t rows_;
  std::vector<std::shared_ptr<Array>> arrays_;
  std::vector<ComponentSpec> spec_;
};

}  // namespace

Flow from_npz(const std::string& path, FromNpzOptions options) {
  std::map<std::string, Array> found = options.arrays.empty() ? read_npz(path) : read_npz(path, options.arrays);
  BELFRY_CHECK_AS(FileError, !found.empty(), "[from_npz] expected at least one array, got none in '{}'.", path);
  if (options.arrays.empty())
    for (const auto& [name, array] : found) options.arrays.push_back(name);
  std::vector<Array> arrays;
  for (const std::string& name : options.arrays) {
    const Array& array = found.at(name);
    BELFRY_CHECK_AS(FileError, array.shape().rank() >= 1,
                    "[from_npz] expected arrays with rows, got {}, a scalar, in '{}'. Name the others in .arrays.",
                    in_quotes(name), path);
    arrays.push_back(array);
    const std::int64_t rows = array.shape()[0], first = arrays[0].shape()[0];
    BELFRY_CHECK_AS(FileError, rows == first,
                    "[from_npz] expected as many rows in {} as in {}, {}, got {} in '{}'. Name in .arrays those that "
                    "belong together.",
                    in_quotes(name), in_quotes(options.arrays[0]), first, rows, path);
  }
  // Rows without elements take no bytes: a file of a few may say that it has any number of them.
  const bool counted = std::ranges::any_of(
      arrays, [](const Array& array) { return array.shape()[0] == 0 || array.shape().without(0).elements() > 0; });
  BELFRY_CHECK_AS(
      FileError, counted,
      "[from_npz] expected an array whose rows have elements, got {} of shape {} in '{}'. Name one that has "
      "some in .arrays.",
      in_quotes(options.arrays[0]), to_string(arrays[0].shape()), path);
  return std::make_shared<RowsFlow>(path, options.arrays, std::move(arrays));
}

}  // namespace belfry
