// A pipeline with everything that buffers or runs in threads, at full speed: its memory must not grow.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/image/augmentor.h"
#include "belfry/dataflow/image/decode.h"
#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/pixels.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/sources/list.h"
#include "benchmarks/data/bare_loop.h"
#include "benchmarks/data/pictures.h"
#include "benchmarks/modes.h"

namespace belfry::bench {
namespace {

double resident_megabytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  file >> total >> resident;
  return static_cast<double>(resident * sysconf(_SC_PAGESIZE)) / 1e6;
}

}  // namespace

void measure_soak(const Options& o) {
  std::vector<DataPoint> points;
  for (const Array& jpeg : make_jpegs(512, 64)) points.push_back({jpeg, Array(0)});
  const Augmentor augmentor = random_resized_crop(48) | flip_horizontal() | to_float();
  Flow flow = from_list(std::move(points)) | shuffle() | decode_images() |
              augment_images(augmentor, {.threads = 2, .ordered = false}) | shuffle_local(64) | batch(32) | repeat() |
              prefetch(4);
  // The first tenth fills buffers and the allocator's stores; from then on nothing may grow.
  const double begin = now(), warm = begin + 0.1 * o.soak, end = begin + o.soak;
  double after_warmup = 0, most = 0;
  std::int64_t batches = 0, looks = 0;
  while (now() < end) {
    flow.next();
    if (++batches % 256 != 0) continue;
    const double resident = resident_megabytes();
    if (now() < warm) after_warmup = std::max(after_warmup, resident);
    most = std::max(most, resident);
    ++looks;
    flow.restore(flow.state());  // threads end and start again
  }
  const double growth = most - after_warmup;
  if (o.json)
    return fmt::print("{}\n", nlohmann::json{{"seconds", o.soak},
                                             {"points", batches * 32},
                                             {"looks", looks},
                                             {"warm_mb", after_warmup},
                                             {"most_mb", most},
                                             {"growth_mb", growth}}
                                  .dump());
  fmt::print("{} points in {} s: at most {:.1f} MB, {:+.1f} MB after the first tenth\n", batches * 32, o.soak, most,
             growth);
}

}  // namespace belfry::bench
