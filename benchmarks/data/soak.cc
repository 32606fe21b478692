// Pipelines with everything that buffers or runs in threads, at full speed: their memory must not grow.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/cache.h"
#include "belfry/dataflow/fan_out.h"
#include "belfry/dataflow/image/augmentor.h"
#include "belfry/dataflow/image/codecs/decode.h"
#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/pixels.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/sources/list.h"
#include "belfry/dataflow/zip.h"
#include "benchmarks/data/bare_loop.h"
#include "benchmarks/data/pictures.h"
#include "benchmarks/modes.h"
#include "benchmarks/resident.h"
#include "tools/scratch_directory.h"
#ifdef BELFRY_HAS_ZEROMQ
#include "belfry/dataflow/remote/remote_flow.h"
#endif

namespace belfry::bench {
namespace {

constexpr int kSoakBatch = 32;

// Shuffling comes before the map() that does not keep the order. The consumers of the fan_out(), which get points in
// turn, meet again in the zip().
Flow image_pipeline() {
  std::vector<DataPoint> points;
  for (const Array& jpeg : make_jpegs(512, 64)) points.push_back({jpeg, Array(0)});
  const Augmentor augmentor = random_resized_crop(48) | flip_horizontal() | to_float();
  const Flow source = from_list(std::move(points)) | cache_in_memory() | shuffle() | decode_images();
  return zip(fan_out(source, {.consumers = 2})) | shuffle_local(64) |
         augment_images(augmentor, {.threads = 2, .ordered = false}) | batch(kSoakBatch) | repeat() | prefetch(4);
}

#ifdef BELFRY_HAS_ZEROMQ
// Points that a thread sends to this process, over a socket in a separate directory.
class RemotePipeline {
 public:
  RemotePipeline() : sender_([this] { send(); }) {}
  ~RemotePipeline() {
    stop_ = true;
    sender_.join();
  }
  RemotePipeline(const RemotePipeline&) = delete;
  RemotePipeline& operator=(const RemotePipeline&) = delete;

  // Fails instead of waiting forever if the sender has failed.
  Flow flow() const {
    return from_remote(address_, {.timeout = 60, .replay = 8 * kSoakBatch}) | batch(kSoakBatch) | repeat() |
           prefetch(4);
  }

 private:
  void send() {
    const std::vector<DataPoint> points(256, {Array::zeros(u8, {48, 48, 3}), Array(0)});
    try {
      send_points(from_list(points) | shuffle(), address_,
                  {.passes = kForever, .stop = [this] { return stop_.load(); }});
    } catch (const Cancelled&) {
    }
  }

  const tools::ScratchDirectory directory_;
  const std::string address_ = "ipc://" + directory_.path() + "/points";
  std::atomic<bool> stop_ = false;
  std::thread sender_;
};
#endif

}  // namespace

void measure_soak(const Options& o) {
  std::vector<Flow> flows{image_pipeline()};
#ifdef BELFRY_HAS_ZEROMQ
  const RemotePipeline remote;
  flows.push_back(remote.flow());
#endif
  // The first tenth fills buffers and the allocator's stores; from then on nothing may grow.
  const double begin = now(), warm = begin + 0.1 * o.soak, end = begin + o.soak;
  double after_warmup = 0, most = 0;
  std::int64_t rounds = 0, looks = 0;
  while (now() < end) {
    for (Flow& flow : flows) flow.next();
    if (++rounds % 256 != 0) continue;
    const double resident = resident_megabytes();
    if (now() < warm) after_warmup = std::max(after_warmup, resident);
    most = std::max(most, resident);
    ++looks;
    for (Flow& flow : flows) flow.restore(flow.state());  // threads end and start again
  }
  const double growth = most - after_warmup;
  const std::int64_t points = rounds * kSoakBatch * static_cast<std::int64_t>(flows.size());
  if (o.json)
    return fmt::print("{}\n", nlohmann::json{{"seconds", o.soak},
                                             {"points", points},
                                             {"looks", looks},
                                             {"warm_mb", after_warmup},
                                             {"most_mb", most},
                                             {"growth_mb", growth}}
                                  .dump());
  fmt::print("{} points in {} s: at most {:.1f} MB, {:+.1f} MB after the first tenth\n", points, o.soak, most, growth);
}

}  // namespace belfry::bench
