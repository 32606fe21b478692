#include "belfry/dataflow/sources/text.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/dataflow/indexed_flow.h"
#include "belfry/dataflow/internal/tokens.h"
#include "belfry/dataflow/internal/utf8.h"
#include "belfry/dataflow/sources/byte_source.h"

namespace belfry {
namespace {

using Ids = std::vector<std::int32_t>;

// The base of both: what begins at `first` and is `length` long, and with targets what begins one later.
class TextFlow : public IndexedFlow {
 public:
  TextFlow(const std::string& path, Ids ids, const TextOptions& options)
      : IndexedFlow(
            FlowIdentity{.kind = "text",
                         .parameters = {{"vocabulary", options.vocabulary.size()},
                                        {"sequence_length", options.sequence_length},
                                        {"stride", options.stride > 0 ? options.stride : options.sequence_length},
                                        {"targets", options.targets},
                                        {"by_line", options.by_line}},
                         .place = path}),
        path_(path),
        ids_(std::make_shared<Ids>(std::move(ids))),
        targets_(options.targets) {}

  std::string describe() const override { return fmt::format("text(\"{}\")", path_); }

 protected:
  DataPoint point(std::size_t first, std::int64_t length) const {
    DataPoint out;
    for (std::size_t k = 0; k < components(); ++k) out.emplace_back(i32, Shape{length}, ids_->data() + first + k, ids_);
    return out;
  }
  std::size_t components() const { return targets_ ? 2 : 1; }
  const Ids& ids() const { return *ids_; }

 private:
  std::string path_;
  std::shared_ptr<Ids> ids_;  // shared with the points
  bool targets_;
};

class SequencesFlow final : public TextFlow {
 public:
  SequencesFlow(const std::string& path, Ids ids, const TextOptions& options)
      : TextFlow(path, std::move(ids), options),
        length_(options.sequence_length),
        stride_(options.stride > 0 ? options.stride : length_),
        spec_(components(), {i32, {length_}}) {
    const auto last = static_cast<std::int64_t>(this->ids().size()) - length_ - (options.targets ? 1 : 0);
    count_ = last < 0 ? 0 : last / stride_ + 1;
  }

  std::int64_t count() const override { return count_; }
  DataPoint at(std::int64_t index) const override { return point(first(index), length_); }
  const std::vector<ComponentSpec>* row_spec() const override { return &spec_; }
  void read_row(std::int64_t index, std::span<void* const> rows) const override {
    const std::int32_t* from = ids().data() + first(index);
    for (std::size_t k = 0; k < rows.size(); ++k)
      std::memcpy(rows[k], from + k, static_cast<std::size_t>(length_) * sizeof(std::int32_t));
  }

 private:
  std::size_t first(std::int64_t index) const {
    BELFRY_BUG_IF(index < 0 || index >= count_, "index {} of {} points", index, count_);
    return static_cast<std::size_t>(index * stride_);
  }

  std::int64_t length_, stride_, count_ = 0;
  std::vector<ComponentSpec> spec_;
};

struct Line {
  std::size_t first = 0;
  std::int64_t length = 0;
};

class LinesFlow final : public TextFlow {
 public:
  LinesFlow(const std::string& path, Ids ids, std::vector<Line> lines, const TextOptions& options)
      : TextFlow(path, std::move(ids), options), lines_(std::move(lines)) {}

  std::int64_t count() const override { return static_cast<std::int64_t>(lines_.size()); }
  DataPoint at(std::int64_t index) const override {
    const Line& line = lines_.at(static_cast<std::size_t>(index));
    return point(line.first, line.length);
  }

 private:
  std::vector<Line> lines_;
};

Flow by_line(const std::string& path, std::string_view text, const TextOptions& options) {
  const Vocabulary& vocabulary = options.vocabulary;
  const TokenRules rules{.unit = vocabulary.unit(), .end_of_line = {}};
  const std::int64_t beyond = options.targets ? 1 : 0;  // tokens of a line that x does not have
  Ids ids;
  std::vector<Line> lines;
  for_each_line(text, [&](std::string_view line) {
    const std::size_t first = ids.size();
    for_each_token(line, rules, [&](std::string_view token) { ids.push_back(vocabulary.id(token)); });
    if (!vocabulary.end_of_line().empty()) ids.push_back(vocabulary.id(vocabulary.end_of_line()));
    const std::int64_t length = static_cast<std::int64_t>(ids.size() - first) - beyond;
    if (length < 1) return;
    lines.push_back({first, options.sequence_length > 0 ? std::min(length, options.sequence_length) : length});
  });
  return std::make_shared<LinesFlow>(path, std::move(ids), std::move(lines), options);
}

void check_options(const TextOptions& options) {
  BELFRY_CHECK(static_cast<bool>(options.vocabulary),
               "[from_text] expected a vocabulary, got none. Make one with Vocabulary::from_files().");
  BELFRY_CHECK(options.by_line ? options.sequence_length >= 0 : options.sequence_length >= 1,
               "[from_text] expected a sequence_length of {} or more, got {}.", options.by_line ? 0 : 1,
               options.sequence_length);
  BELFRY_CHECK(options.stride >= 0 && (options.stride == 0 || !options.by_line),
               "[from_text] expected a stride of {}, got {}.", options.by_line ? "0 for lines" : "0 or more",
               options.stride);
}

}  // namespace

Flow from_text(const std::string& path, TextOptions options) {
  check_options(options);
  std::string text;
  append_contents(text, path, "from_text", {.bytes = options.max_unpacked_bytes});
  check_utf8(text, "from_text", path);
  if (options.by_line) return by_line(path, text, options);
  return std::make_shared<SequencesFlow>(path, options.vocabulary.encode(text), options);
}

}  // namespace belfry
