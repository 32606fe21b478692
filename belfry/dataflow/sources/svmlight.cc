#include "belfry/dataflow/sources/svmlight.h"

#include <algorithm>
#include <memory>

#include "belfry/base/check.h"
#include "belfry/dataflow/indexed_flow.h"
#include "belfry/dataflow/internal/svmlight_parser.h"
#include "belfry/dataflow/sources/byte_source.h"

namespace belfry {
namespace {

// A line of a few bytes can name any index; rows as long as it says are made only if somebody wants them so.
constexpr std::int64_t kMostUnasked = std::int64_t{1} << 24;

class SvmlightFlow final : public RowFlow {
 public:
  SvmlightFlow(const std::string& path, SparseRows rows, const std::vector<ComponentSpec>& spec, bool zero_based)
      : RowFlow({.kind = "svmlight",
                 .parameters = {{"features", to_string(spec[0].shape)},
                                {"label", fmt::format("{} {}", name_of(spec[1].dtype), to_string(spec[1].shape))},
                                {"zero_based", zero_based}},
                 .place = path},
                spec),
        path_(path),
        rows_(std::move(rows)) {}

  std::string describe() const override { return fmt::format("svmlight(\"{}\")", path_); }

  std::int64_t count() const override { return static_cast<std::int64_t>(rows_.rows()); }

  void read_row(std::int64_t index, std::span<void* const> rows) const override {
    BELFRY_BUG_IF(index < 0 || index >= count(), "index {} of {} points", index, count());
    const auto row = static_cast<std::size_t>(index);
    auto* features = static_cast<float*>(rows[0]);
    std::fill_n(features, component(0).shape[0], 0.f);
    for (std::size_t i = rows_.ends[row]; i < rows_.ends[row + 1]; ++i) features[rows_.columns[i]] = rows_.values[i];

    if (component(1).shape.rank() == 1) {
      auto* classes = static_cast<float*>(rows[1]);
      std::fill_n(classes, component(1).shape[0], 0.f);
      for (std::size_t i = rows_.label_ends[row]; i < rows_.label_ends[row + 1]; ++i)
        classes[static_cast<std::size_t>(rows_.labels[i])] = 1.f;
    } else if (component(1).dtype == i32) {
      *static_cast<std::int32_t*>(rows[1]) = static_cast<std::int32_t>(rows_.labels[row]);
    } else {
      *static_cast<float*>(rows[1]) = static_cast<float>(rows_.labels[row]);
    }
  }

 private:
  std::string path_;
  SparseRows rows_;
};

std::int64_t length(std::optional<std::int64_t> asked, std::int64_t seen, const char* option, const std::string& path) {
  BELFRY_CHECK_AS(FileError, asked || seen <= kMostUnasked,
                  "[from_svmlight] expected at most {} {} unless they are asked for, got {} in '{}'. If that is right, "
                  "set .{}.",
                  kMostUnasked, option, seen, path, option);
  return asked.value_or(seen);
}

}  // namespace

Flow from_svmlight(const std::string& path, SvmlightOptions options) {
  BELFRY_CHECK(options.label == f32 || options.label == i32,
               "[from_svmlight] expected labels of type f32 or i32, got {}.", name_of(options.label));
  BELFRY_CHECK(options.features.value_or(1) >= 1 && options.classes.value_or(1) >= 1,
               "[from_svmlight] expected at least 1 feature and 1 class, got {} and {}.", options.features.value_or(1),
               options.classes.value_or(1));
  std::string text;
  append_contents(text, path, "from_svmlight", {.bytes = options.max_unpacked_bytes});
  SparseRows rows = parse_svmlight(text, path, options);
  ComponentSpec label{options.label, {}};
  if (options.multilabel) label = {f32, {length(options.classes, rows.classes, "classes", path)}};
  const std::vector<ComponentSpec> spec{{f32, {length(options.features, rows.features, "features", path)}}, label};
  return std::make_shared<SvmlightFlow>(path, std::move(rows), spec, options.zero_based);
}

}  // namespace belfry
