#include <fmt/format.h>

#include <set>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/base/mutex.h"
#include "belfry/dataflow/image/codecs/decode.h"
#include "belfry/dataflow/image/codecs/internal/decoding.h"
#include "belfry/dataflow/internal/map_as.h"
#include "belfry/dataflow/internal/origin.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

constexpr const char* kWhere = "decode_images";
constexpr std::size_t kFilesInLog = 10;

void decode_component(DataPoint& point, const DecodeImagesOptions& options) {
  check_component(kWhere, point, options.component);
  Array& component = point[options.component];
  component =
      with_origin(decode_as(kWhere, bytes_of(component, kWhere), {options.channels, options.orient, options.strict}),
                  origin_of(component));
}

// Without a point if the image is bad: `all` and `pass` are the lists for it.
std::optional<DataPoint> decode_or_skip(DataPoint point, const DecodeImagesOptions& options, SkippedImages all,
                                        SkippedImages pass) {
  // A point of the wrong form is a mistake in the program, not in the data.
  check_component(kWhere, point, options.component);
  const Array& component = point[options.component];
  bytes_of(component, kWhere);
  const Origin origin = origin_of(component);
  try {
    decode_component(point, options);
    return point;
  } catch (const InternalError&) {
    throw;  // our mistake, not the image's
  } catch (const Error& e) {
    const std::string file = origin ? *origin : "";
    pass.add(file);
    if (all.add(file) == 1)
      log_warning(fmt::format("an image is skipped, and so will be others like it: {}{}", e.what(),
                              origin ? fmt::format(" It is '{}'.", file) : ""));
    return std::nullopt;
  }
}

// Says at the end of a pass what was skipped in it. Nobody sees it otherwise: states and descriptions are the source's.
class ReportSkipped final : public StageFlow {
 public:
  ReportSkipped(Flow source, SkippedImages pass)
      : StageFlow(std::move(source), kWhere, kWhere), pass_(std::move(pass)) {}

  void start_epoch(std::uint64_t epoch) override {
    StageFlow::start_epoch(epoch);
    pass_.clear();
  }
  std::optional<DataPoint> next() override {
    std::optional<DataPoint> point = source().next();
    if (!point) report();
    return point;
  }
  FlowState state() const override { return source().state(); }
  void restore(const FlowState& state) override {
    source().restore(state);
    pass_.clear();
  }
  std::string describe() const override { return source().describe(); }

 private:
  void report() {
    if (pass_.count() == 0) return;
    std::vector<std::string> files = pass_.files();
    const std::size_t more = files.size() - std::min(files.size(), kFilesInLog);
    files.resize(files.size() - more);
    log_warning(fmt::format("[{}] {} image(s) of '{}' were skipped in epoch {}{}{}{}", kWhere, pass_.count(),
                            describe(), epoch(), files.empty() ? "" : ": ", fmt::join(files, ", "),
                            more == 0 ? "" : fmt::format(" and {} more. SkippedImages::files() has all.", more)));
    pass_.clear();
  }

  SkippedImages pass_;
};

}  // namespace

struct SkippedImages::List {
  Mutex mutex;
  std::int64_t count BELFRY_GUARDED_BY(mutex) = 0;
  std::set<std::string> files BELFRY_GUARDED_BY(mutex);
};

SkippedImages::SkippedImages() : list_(std::make_shared<List>()) {}

std::int64_t SkippedImages::count() const {
  const MutexLock lock(list_->mutex);
  return list_->count;
}

std::vector<std::string> SkippedImages::files() const {
  const MutexLock lock(list_->mutex);
  return {list_->files.begin(), list_->files.end()};
}

std::int64_t SkippedImages::add(const std::string& file) {
  const MutexLock lock(list_->mutex);
  if (!file.empty()) list_->files.insert(file);
  return ++list_->count;
}

void SkippedImages::clear() {
  const MutexLock lock(list_->mutex);
  list_->count = 0;
  list_->files.clear();
}

FlowStage decode_images(DecodeImagesOptions options) {
  const MapOptions map_options{.threads = options.threads, .ordered = options.ordered, .buffer = options.buffer};
  if (options.on_error == OnBadImage::fail)
    return map_as(
        kWhere,
        [options](DataPoint point) {
          decode_component(point, options);
          return point;
        },
        map_options);
  return FlowStage([=](Flow source) -> Flow {
    const SkippedImages pass;
    const auto decode = [=](DataPoint point) {
      return decode_or_skip(std::move(point), options, options.skipped, pass);
    };
    return std::make_shared<ReportSkipped>(std::move(source) | map_as(kWhere, decode, map_options), pass);
  });
}

}  // namespace belfry
