#include "benchmarks/data/dataloader.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/image/augmentor.h"
#include "belfry/dataflow/image/codecs/image_folder.h"
#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/pixels.h"
#include "belfry/dataflow/shuffle.h"
#include "benchmarks/data/bare_loop.h"
#include "benchmarks/data/pictures.h"
#include "benchmarks/options.h"
#include "benchmarks/peer_python.h"
#include "tools/scratch_directory.h"

namespace belfry::bench {
namespace {

constexpr int kWorkers = 2, kLoaderBatch = 32;

// The other side, in a separate process: it makes a pass when it is told to.
class DataLoaderProcess {
 public:
  DataLoaderProcess(const std::string& python, const std::string& directory, int crop) {
    const std::string turns = scratch_.path() + "/turns";
    // Opened for reading and writing, so that neither side waits for the other; it ends when this one closes.
    if (mkfifo(turns.c_str(), 0600) != 0 || (turns_ = open(turns.c_str(), O_RDWR | O_CLOEXEC)) < 0) return;
    const std::string command = fmt::format("'{}' '{}' '{}' {} {} {} '{}' 2>/dev/null", python, BELFRY_DATALOADER,
                                            directory, crop, kLoaderBatch, kWorkers, turns);
    printed_ = popen(command.c_str(), "r");
    decoder_ = line();
  }
  ~DataLoaderProcess() {
    if (turns_ >= 0) close(turns_);
    if (printed_ != nullptr) pclose(printed_);
  }
  DataLoaderProcess(const DataLoaderProcess&) = delete;
  DataLoaderProcess& operator=(const DataLoaderProcess&) = delete;

  const std::string& decoder() const { return decoder_; }
  // Images per second of a pass; 0 if it has failed.
  double pass() {
    if (decoder_.empty() || write(turns_, "\n", 1) != 1) return 0;
    return std::strtod(line().c_str(), nullptr);
  }

 private:
  std::string line() {
    char buffer[256];
    if (printed_ == nullptr || std::fgets(buffer, sizeof buffer, printed_) == nullptr) return "";
    std::string text = buffer;
    return text.substr(0, text.find('\n'));
  }

  const tools::ScratchDirectory scratch_;
  int turns_ = -1;
  FILE* printed_ = nullptr;
  std::string decoder_;
};

// Images per second of a pass.
double pass_of(Flow& flow, std::uint64_t epoch) {
  flow.start_epoch(epoch);
  std::int64_t images = 0;
  const double begin = now();
  while (const std::optional<DataPoint> point = flow.next()) images += (*point)[0].shape()[0];
  return static_cast<double>(images) / (now() - begin);
}

}  // namespace

std::optional<DataLoaderRatio> compare_with_dataloader(const std::vector<Array>& jpegs, int crop, int repeats) {
  const std::optional<std::string> python = python_with_torch();
  if (!python) return std::nullopt;
  const tools::ScratchDirectory folder;
  write_jpegs(folder.path(), jpegs);
  const Augmentor augmentor = random_crop(crop) | flip_horizontal() |
                              normalize({kMean[0], kMean[1], kMean[2]}, {kDeviation[0], kDeviation[1], kDeviation[2]});
  Flow flow =
      image_folder(folder.path()) | shuffle() | augment_images(augmentor, {.threads = kWorkers}) | batch(kLoaderBatch);
  DataLoaderProcess loader(*python, folder.path(), crop);
  DataLoaderRatio out{.decoder = loader.decoder()};
  for (int r = 0; r < repeats; ++r) {
    const double theirs = loader.pass();
    if (theirs <= 0) return std::nullopt;
    out.dataloader_images_per_s = std::max(out.dataloader_images_per_s, theirs);
    out.images_per_s = std::max(out.images_per_s, pass_of(flow, static_cast<std::uint64_t>(r)));
  }
  out.ratio = out.images_per_s / out.dataloader_images_per_s;
  return out;
}

}  // namespace belfry::bench
