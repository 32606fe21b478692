// What data pipelines cost, compared to hand-written loops and to PyTorch's DataLoader.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/image/augmentor.h"
#include "belfry/dataflow/image/codecs/decode.h"
#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/pixels.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/sources/list.h"
#include "benchmarks/data/bare_loop.h"
#include "benchmarks/data/dataloader.h"
#include "benchmarks/data/pictures.h"
#include "benchmarks/modes.h"

namespace belfry::bench {
namespace {

constexpr double kNever = std::numeric_limits<double>::max();

// Seconds of a whole pass.
double pass_seconds(Flow flow, std::uint64_t epoch) {
  flow.start_epoch(epoch);
  const double begin = now();
  while (flow.next()) {
  }
  return now() - begin;
}

Flow list_of(const std::vector<Array>& arrays) {
  std::vector<DataPoint> points;
  for (const Array& array : arrays) points.push_back({array, Array(0)});
  return from_list(std::move(points));
}

// The pipeline's throughput relative to the bare loops'. The two take turns; the best of each counts.
double decode_ratio(const std::vector<Array>& jpegs, const Crop& crop, int threads, int repeats) {
  const Augmentor augmentor = random_crop(crop.size, {.padding = crop.padding}) | flip_horizontal() |
                              normalize({kMean[0], kMean[1], kMean[2]}, {kDeviation[0], kDeviation[1], kDeviation[2]});
  // With one thread only the caller's is used, as in a bare loop.
  Flow flow = list_of(jpegs) | decode_images() | augment_images(augmentor, {.threads = threads > 1 ? threads : 0}) |
              batch(kBatch, Remainder::keep);
  double bare = kNever, piped = kNever;
  for (int r = 0; r < repeats; ++r) {
    const double begin = now();
    std::vector<std::thread> loops;
    for (int t = 0; t < threads; ++t)
      loops.emplace_back(
          [&, t] { bare_loop(jpegs, crop, static_cast<std::size_t>(t), static_cast<std::size_t>(threads)); });
    for (std::thread& loop : loops) loop.join();
    bare = std::min(bare, now() - begin);
    piped = std::min(piped, pass_seconds(flow, static_cast<std::uint64_t>(r)));
  }
  return bare / piped;
}

// Batches of 128 x 3 x 32 x 32 floats compared to memcpy of as many bytes.
double batch_ratio(int repeats) {
  constexpr std::int64_t kPoints = 4096;
  std::vector<Array> rows;
  for (std::int64_t i = 0; i < kPoints; ++i) rows.push_back(Array::zeros(f32, {3, 32, 32}));
  std::vector<DataPoint> points;
  for (const Array& row : rows) points.push_back({row});
  Flow flow = from_list(std::move(points)) | batch(kBatch);
  const std::size_t bytes = kBatch * rows[0].bytes();
  const Array from = Array::zeros(f32, {kPoints, 3, 32, 32});
  Array to = Array::zeros(f32, {kBatch, 3, 32, 32});
  double copy = kNever, piped = kNever;
  for (int r = 0; r < repeats; ++r) {
    const double begin = now();
    for (std::size_t at = 0; at < from.bytes(); at += bytes)
      std::memcpy(to.raw(), static_cast<const std::byte*>(from.raw()) + at, bytes);
    copy = std::min(copy, now() - begin);
    piped = std::min(piped, pass_seconds(flow, static_cast<std::uint64_t>(r)));
  }
  return copy / piped;
}

// What one map() that does nothing adds per point.
double map_nanoseconds(int repeats) {
  constexpr int kPoints = 100'000;
  const auto points = [] { return list_of(std::vector<Array>(kPoints, Array(1.f))); };
  Flow plain = points(), mapped = points() | map([](DataPoint point) { return point; });
  double without = kNever, with = kNever;
  for (int r = 0; r < repeats; ++r) {
    without = std::min(without, pass_seconds(plain, static_cast<std::uint64_t>(r)));
    with = std::min(with, pass_seconds(mapped, static_cast<std::uint64_t>(r)));
  }
  return (with - without) / kPoints * 1e9;
}

}  // namespace

void measure_data(const Options& o) {
  const int repeats = o.repeats_or(10);
  const Crop small{.size = 32, .padding = 4}, large{.size = 224, .padding = 0};
  const std::vector<Array> small_jpegs = make_jpegs(4096, 32), large_jpegs = make_jpegs(384, 256);
  nlohmann::json out{{"repeats", repeats}};
  for (const int threads : {1, 2}) {
    const double of_small = decode_ratio(small_jpegs, small, threads, repeats);
    const double of_large = decode_ratio(large_jpegs, large, threads, repeats);
    out[fmt::format("decode_{}_32", threads)] = of_small;
    out[fmt::format("decode_{}_256", threads)] = of_large;
    out[fmt::format("decode_{}", threads)] = std::min(of_small, of_large);
  }
  out["batch_memcpy"] = batch_ratio(repeats);
  out["map_ns"] = map_nanoseconds(repeats);
  if (const std::optional<DataLoaderRatio> beside = compare_with_dataloader(large_jpegs, large.size, repeats)) {
    out["over_dataloader"] = beside->ratio;
    out["images_per_s"] = beside->images_per_s;
    out["dataloader_images_per_s"] = beside->dataloader_images_per_s;
    out["dataloader_decoder"] = beside->decoder;
  }
  if (o.json) return fmt::print("{}\n", out.dump());
  fmt::print(
      "decode, crop, flip, normalise, batch, relative to bare loops of libjpeg and OpenCV:\n"
      "  one thread   {:.2f} (32 x 32), {:.2f} (256 x 256)\n"
      "  two threads  {:.2f} (32 x 32), {:.2f} (256 x 256)\n"
      "batches of 128 x 3 x 32 x 32 floats at {:.2f} of memcpy's speed; a map() that does nothing takes {:.0f} ns\n",
      out["decode_1_32"].get<double>(), out["decode_1_256"].get<double>(), out["decode_2_32"].get<double>(),
      out["decode_2_256"].get<double>(), out["batch_memcpy"].get<double>(), out["map_ns"].get<double>());
  if (out.contains("over_dataloader"))
    fmt::print("a folder of JPEGs: {:.0f} images/s, PyTorch's DataLoader ({}) {:.0f}: {:.1f} times as fast\n",
               out["images_per_s"].get<double>(), out["dataloader_decoder"].get<std::string>(),
               out["dataloader_images_per_s"].get<double>(), out["over_dataloader"].get<double>());
}

}  // namespace belfry::bench
