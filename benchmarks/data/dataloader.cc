#include "benchmarks/data/dataloader.h"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/image/augmentor.h"
#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/image_folder.h"
#include "belfry/dataflow/image/pixels.h"
#include "belfry/dataflow/shuffle.h"
#include "benchmarks/data/bare_loop.h"
#include "benchmarks/data/pictures.h"
#include "benchmarks/options.h"
#include "tools/scratch_directory.h"

namespace belfry::bench {
namespace {

constexpr int kWorkers = 2, kLoaderBatch = 32;

// What the command prints on stdout; nothing if it fails.
std::optional<std::string> output_of(const std::string& command) {
  FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string out;
  char buffer[256];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) out += buffer;
  if (pclose(pipe) != 0) return std::nullopt;
  return out;
}

std::optional<std::string> python_with_torch() {
  const char *chosen = std::getenv("PEER_PYTHON"), *home = std::getenv("HOME");
  const std::string candidates[] = {chosen != nullptr ? chosen : "",
                                    fmt::format("{}/.cache/belfry-peers/bin/python3", home != nullptr ? home : ""),
                                    "/usr/bin/python3"};
  for (const std::string& python : candidates)
    if (!python.empty() && output_of(fmt::format("'{}' -c 'import torch'", python))) return python;
  return std::nullopt;
}

double images_per_second(const std::string& directory, int crop, int repeats) {
  const Augmentor augmentor = random_crop(crop) | flip_horizontal() |
                              normalize({kMean[0], kMean[1], kMean[2]}, {kDeviation[0], kDeviation[1], kDeviation[2]});
  Flow flow =
      image_folder(directory) | shuffle() | augment_images(augmentor, {.threads = kWorkers}) | batch(kLoaderBatch);
  double best = 0;
  for (int r = 0; r < repeats; ++r) {
    flow.start_epoch(static_cast<std::uint64_t>(r));
    std::int64_t images = 0;
    const double begin = now();
    while (const std::optional<DataPoint> point = flow.next()) images += (*point)[0].shape()[0];
    best = std::max(best, static_cast<double>(images) / (now() - begin));
  }
  return best;
}

}  // namespace

std::optional<DataLoaderRatio> compare_with_dataloader(const std::vector<Array>& jpegs, int crop, int repeats) {
  const std::optional<std::string> python = python_with_torch();
  if (!python) return std::nullopt;
  const tools::ScratchDirectory folder;
  write_jpegs(folder.path(), jpegs);
  DataLoaderRatio out;
  out.images_per_s = images_per_second(folder.path(), crop, repeats);
  const std::optional<std::string> printed = output_of(
      fmt::format("'{}' '{}' '{}' {} {} {}", *python, BELFRY_DATALOADER, folder.path(), crop, kLoaderBatch, kWorkers));
  if (!printed) return std::nullopt;
  std::istringstream(*printed) >> out.decoder >> out.dataloader_images_per_s;
  out.images_per_s = std::max(out.images_per_s, images_per_second(folder.path(), crop, repeats));
  out.ratio = out.images_per_s / out.dataloader_images_per_s;
  return out;
}

}  // namespace belfry::bench
