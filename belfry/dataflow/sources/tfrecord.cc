#include "belfry/dataflow/sources/tfrecord.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/internal/masked_crc32c.h"
#include "belfry/base/internal/quotes.h"
#include "belfry/dataflow/cancel_flag.h"
#include "belfry/dataflow/encoding.h"
#include "belfry/dataflow/internal/flow_checks.h"
#include "belfry/dataflow/internal/tfrecord_format.h"
#include "belfry/dataflow/sources/example.h"

namespace belfry {
namespace {

std::string_view text_of(const Array& record) { return {static_cast<const char*>(record.raw()), record.bytes()}; }

class TFRecordFlow final : public DataFlow {
 public:
  TFRecordFlow(std::vector<std::string> paths, TFRecordOptions options)
      : paths_(std::move(paths)), options_(std::move(options)), identity_(identity_text(identity())) {
    for (const std::string& path : paths_) ByteSource(path, "from_tfrecord");  // throws if it cannot be read
  }

  void start_epoch(std::uint64_t epoch) override {
    cancelled_.lift();
    go_to(epoch, 0, {});
  }
  void cancel() override { cancelled_.set(); }
  std::uint64_t epoch() const override { return epoch_; }
  std::optional<std::int64_t> size() const override { return std::nullopt; }

  std::optional<DataPoint> next() override {
    cancelled_.check(*this);
    for (; file_ < paths_.size(); go_to(epoch_, file_ + 1, {}))
      if (std::optional<DataPoint> point = next_in_file()) return point;
    return std::nullopt;
  }

  FlowState state() const override {
    return {"tfrecord",
            {{"files", paths_.size()},
             {"epoch", epoch_},
             {"file", file_},
             {"record", position_.record},
             {"offset", position_.offset}},
            {},
            identity_};
  }

  void restore(const FlowState& state) override {
    state.expect_identity(identity_);
    state.expect("tfrecord", 0);
    state.expect_number("files", paths_.size());
    const std::uint64_t file = state.at("file");
    BELFRY_CHECK(file <= paths_.size(),
                 "[restore] expected a file of at most {} in 'tfrecord', got {}. The state is "
                 "damaged.",
                 paths_.size(), file);
    cancelled_.lift();
    go_to(state.at("epoch"), file, {.offset = state.at("offset"), .record = state.at("record")});
  }

  FlowIdentity identity() const override {
    FlowIdentity identity{.kind = "tfrecord",
                          .parameters = {{"files", paths_.size()}, {"decode", options_.decode}},
                          .place = fmt::format("{}", fmt::join(paths_, ", "))};
    for (const std::string& feature : options_.features) identity.parameters.emplace_back("feature", feature);
    return identity;
  }
  std::string describe() const override {
    return paths_.size() == 1 ? fmt::format("tfrecord(\"{}\")", paths_[0])
                              : fmt::format("tfrecord({} files)", paths_.size());
  }

 private:
  bool raw() const { return !options_.decode && options_.features.empty(); }

  // The file is opened by the first next() that needs it.
  void go_to(std::uint64_t epoch, std::uint64_t file, TFRecordPosition position) {
    epoch_ = epoch;
    file_ = file;
    position_ = position;
    reader_.reset();
  }

  // Nothing at the end of the file. An error leaves us before the record, so that it can be tried again.
  std::optional<DataPoint> next_in_file() {
    try {
      if (!reader_) reader_.emplace(paths_[file_], position_);
      const std::string place = raw() ? "" : reader_->place();
      Array record;
      if (!reader_->read(record)) return std::nullopt;
      DataPoint point = to_point(std::move(record), place);
      position_ = reader_->position();
      return point;
    } catch (...) {
      reader_.reset();
      throw;
    }
  }

  DataPoint to_point(Array record, const std::string& place) const {
    if (options_.decode) return decode(text_of(record), place);
    if (!options_.features.empty()) return decode_example(text_of(record), options_.features, place);
    return {std::move(record)};
  }

  const std::vector<std::string> paths_;
  const TFRecordOptions options_;
  const IdentityText identity_;
  std::uint64_t epoch_ = 0;
  std::uint64_t file_ = 0;  // paths_.size(): the pass is over
  TFRecordPosition position_;
  std::optional<TFRecordReader> reader_;  // stands at position_
  CancelFlag cancelled_;
};

std::string record_of(const DataPoint& point, const WriteTFRecordOptions& options) {
  if (options.encode) return encode(point);
  if (!options.features.empty()) {
    BELFRY_CHECK(point.size() == options.features.size(),
                 "[write_tfrecord] expected {} component(s), one for each of .features, got a point of {}.",
                 options.features.size(), point.size());
    std::map<std::string, Array> named;
    for (std::size_t i = 0; i < point.size(); ++i) named[options.features[i]] = point[i];
    return encode_example(named);
  }
  BELFRY_CHECK(point.size() == 1 && point[0].dtype() == u8 && point[0].shape().rank() == 1,
               "[write_tfrecord] expected points of one component, u8 [n], got {}. Set .encode or .features to store "
               "others.",
               point.size() == 1 ? fmt::format("{} {}", name_of(point[0].dtype()), to_string(point[0].shape()))
                                 : fmt::format("a point of {} components", point.size()));
  return std::string(text_of(point[0]));
}

}  // namespace

Flow from_tfrecord(std::vector<std::string> paths, TFRecordOptions options) {
  BELFRY_CHECK(!paths.empty(), "[from_tfrecord] expected the path of a file, or several, got none.");
  BELFRY_CHECK(!options.decode || options.features.empty(),
               "[from_tfrecord] expected .decode or .features, got both. A record is one or the other.");
  return std::make_shared<TFRecordFlow>(std::move(paths), std::move(options));
}

struct TFRecordWriter::File : AtomicFile {
  using AtomicFile::AtomicFile;
};

TFRecordWriter::TFRecordWriter(const std::string& path) : file_(std::make_unique<File>(path)) {}
TFRecordWriter::~TFRecordWriter() = default;

void TFRecordWriter::write(std::span<const std::byte> record) {
  const auto write_with_checksum = [this](std::span<const std::byte> bytes) {
    file_->write(bytes);
    const std::uint32_t checksum = masked_crc32c(bytes);
    file_->write(std::as_bytes(std::span(&checksum, 1)));
  };
  const std::uint64_t length = record.size();
  write_with_checksum(std::as_bytes(std::span(&length, 1)));
  write_with_checksum(record);
  ++records_;
}

void TFRecordWriter::write(std::string_view record) { write(std::as_bytes(std::span(record))); }

void TFRecordWriter::finish() { file_->commit(); }

std::int64_t write_tfrecord(Flow flow, const std::string& path, const WriteTFRecordOptions& options) {
  BELFRY_CHECK(!options.encode || options.features.empty(),
               "[write_tfrecord] expected .encode or .features, got both. A record is one or the other.");
  std::set<std::string_view> names;
  for (const std::string& name : options.features)
    BELFRY_CHECK(
        names.insert(name).second,
        "[write_tfrecord] expected distinct names in .features, got {} twice. An Example has one feature per name.",
        in_quotes(name));
  check_ends(*flow, "write_tfrecord");
  TFRecordWriter writer(path);
  flow.reset_state();
  while (const std::optional<DataPoint> point = flow.next()) writer.write(record_of(*point, options));
  writer.finish();
  return writer.records();
}

}  // namespace belfry
