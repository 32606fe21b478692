#include <unistd.h>

#include <memory>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/dataflow/cache.h"
#include "belfry/dataflow/internal/cached_flow.h"
#include "belfry/dataflow/internal/point_file.h"

namespace belfry {
namespace {

class DiskCacheFlow final : public CachedFlow {
 public:
  DiskCacheFlow(Flow source_flow, std::string path, const DiskCacheOptions& options)
      : CachedFlow(std::move(source_flow), "cache_on_disk", fmt::format("cache_on_disk({})", path)),
        path_(std::move(path)),
        text_(fmt::format("{} ({} points) with the key '{}'", to_string(source().identity()),
                          source_size() ? fmt::format("{}", *source_size()) : "an unknown number of", options.key)) {
    const MutexLock lock(mutex_);
    if (is_there()) open();
  }

  std::int64_t count() const override { return file().count(); }
  DataPoint at(std::int64_t index) const override { return file().at(index); }

 private:
  bool has(std::int64_t index) const override { return index < count(); }

  const PointFile& file() const {
    if (complete_) return *file_;
    const MutexLock lock(mutex_);
    if (!complete_) {
      if (!is_there()) read_with([this](DataFlow& source) { write(source); });
      open();
    }
    return *file_;
  }

  bool is_there() const { return ::access(path_.c_str(), F_OK) == 0; }

  void open() const BELFRY_REQUIRES(mutex_) {
    auto file = std::make_unique<PointFile>(path_);
    BELFRY_CHECK_AS(
        FileError, file->text() == text_,
        "[cache_on_disk] expected the points of {} in '{}', got those of {}. The cache is stale: remove the "
        "file, or name another.",
        text_, path_, file->text());
    file_ = std::move(file);
    complete_ = true;
  }

  void write(DataFlow& source) const {
    PointFileWriter writer(path_);
    while (const std::optional<DataPoint> point = source.next()) {
      check_not_cancelled();
      writer.add(*point);
    }
    check_not_cancelled();  // a cancelled source may have ended early
    BELFRY_CHECK(writer.count() == source_size().value_or(writer.count()),
                 "[cache_on_disk] expected {} points of '{}', as its size() says, got {}.", source_size().value_or(0),
                 source.describe(), writer.count());
    writer.commit(text_);
    log_info(fmt::format("wrote {} points to '{}'", writer.count(), path_));
  }

  const std::string path_;
  const std::string text_;                         // what the file says of itself
  mutable std::unique_ptr<const PointFile> file_;  // set once, under the mutex; then complete_
};

}  // namespace

FlowStage cache_on_disk(std::string path, DiskCacheOptions options) {
  BELFRY_CHECK(!path.empty(), "[cache_on_disk] expected the path of a file, got an empty text.");
  return FlowStage([path = std::move(path), options = std::move(options)](Flow source) {
    return std::make_shared<DiskCacheFlow>(std::move(source), path, options);
  });
}

}  // namespace belfry
