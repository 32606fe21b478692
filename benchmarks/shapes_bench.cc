// What changing shapes cost: steps whose batch size cycles through a few values compared to steps of one size in a row,
// and sequences of many different lengths in one session.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "benchmarks/hashed.h"
#include "benchmarks/modes.h"
#include "benchmarks/plain_step.h"
#include "benchmarks/resident.h"

namespace belfry::bench {
namespace {

constexpr std::size_t kSizes = 8;

// The shortest repeat, and the shortest step of each size, which a disturbed machine changes less.
struct Best {
  Best() { steps.fill(std::numeric_limits<double>::max()); }
  double step() const { return std::accumulate(steps.begin(), steps.end(), 0.0) / kSizes; }
  double repeat = std::numeric_limits<double>::max();
  std::array<double, kSizes> steps{};
};

// The first eighths of a batch, this many.
Array first_part(const Array& whole, std::int64_t eighths) {
  Shape shape = whole.shape();
  shape.set(0, shape[0] * eighths / static_cast<std::int64_t>(kSizes));
  Array out(whole.dtype(), shape);
  std::memcpy(out.raw(), whole.raw(), out.bytes());
  return out;
}

// Steps of eight batch sizes.
class SizedSteps {
 public:
  SizedSteps(const Suite& suite, const Options& o)
      : plain_(make_plain_step(suite)), session_(*plain_.graph, {.devices = {{o.threads}}}) {
    session_.initialize();
    fill_parameters(suite, session_);
    for (std::int64_t size = 1; size <= static_cast<std::int64_t>(kSizes); ++size) {
      Feeds& feeds = feeds_.emplace_back();
      for (std::size_t i = 0; i < plain_.inputs.size(); ++i)
        feeds.emplace_back(plain_.inputs[i], first_part(suite.batches[0][i], size));
    }
    Best unused;
    rounds(1, unused);  // every plan is made
  }

  // One repeat: the sizes take turns.
  void rounds(int count, Best& best) {
    double seconds = 0;
    for (int round = 0; round < count; ++round)
      for (std::size_t size = 0; size < kSizes; ++size) seconds += step(size, best);
    best.repeat = std::min(best.repeat, seconds);
  }
  // One repeat: all steps of a size, then those of the next.
  void in_a_row(int count, Best& best) {
    double seconds = 0;
    for (std::size_t size = 0; size < kSizes; ++size) {
      Best unused;
      step(size, unused);  // the first comes after another size
      for (int k = 0; k < count; ++k) seconds += step(size, best);
    }
    best.repeat = std::min(best.repeat, seconds);
  }

 private:
  double step(std::size_t size, Best& best) {
    const double begin = now();
    session_.run(plain_.train, feeds_[size]);
    const double seconds = now() - begin;
    best.steps[size] = std::min(best.steps[size], seconds);
    return seconds;
  }

  PlainStep plain_;
  Session session_;
  std::vector<Feeds> feeds_;
};

nlohmann::json measure_rounds_of(const Suite& suite, const Options& o) {
  SizedSteps steps(suite, o);
  const int count = o.steps > 0 ? o.steps : std::max(2, suite.steps / 4);
  const double steps_of_repeat = static_cast<double>(count) * kSizes;
  Best changing, fixed;
  for (int r = 0; r < o.repeats_or(9); ++r) {
    steps.in_a_row(count, fixed);
    steps.rounds(count, changing);
  }
  return {{"suite", suite.name},
          {"steps", count},  // of each size, in a repeat
          {"fixed_us", fixed.repeat / steps_of_repeat * 1e6},
          {"changing_us", changing.repeat / steps_of_repeat * 1e6},
          {"changing_over_fixed", changing.repeat / fixed.repeat},
          {"changing_over_fixed_best_steps", changing.step() / fixed.step()}};
}

constexpr std::int64_t kLongest = 1000, kFeatures = 64;
constexpr int kCharacters = 65;

// A character model of sequences of any length.
PlainStep make_sequence_step() {
  const Suite suite{.signature = {{"ids", i32, {kAny, kAny}}, {"label", i32, {kAny}}},
                    .cost =
                        [](const Inputs& in) {
                          const Tensor ids = in["ids"];
                          const Variable positions = get_variable("pos", {.shape = {kLongest, kFeatures}});
                          Tensor x = embedding_lookup(get_variable("tok", {.shape = {kCharacters, kFeatures}}), ids) +
                                     slice(positions, {0, 0}, {size_of(ids, 1), kFeatures});
                          for (const char* name : {"block0", "block1"})
                            x = x | transformer_block({.heads = 4, .causal = true})(name);
                          return mean_cross_entropy(flatten_rows(x | dense("head", {.units = kCharacters})),
                                                    in["label"]);
                        },
                    .optimizer = [] { return adam({.learning_rate = 1e-3f}); }};
  return make_plain_step(suite);
}

// Lengths from 1 to kLongest, each once: the longest first, so that the arena has its size, the others shuffled.
std::int64_t length_of(int step) { return step == 0 ? kLongest : static_cast<std::int64_t>(step) * 387 % kLongest; }

struct Lengths {
  int lengths = 0, plan_cache = 0, plans = 0;
  double new_ms = 0, again_ms = 0;  // the first step of a length, and its second step
  // Growth of resident memory for each new length: until the cache is full, and over the second half of all.
  double growth_kb = 0, growth_late_kb = 0, resident_mb = 0;
};

Lengths measure_lengths(const Options& o) {
  const PlainStep plain = make_sequence_step();
  const SessionConfig config{.devices = {{o.threads}}};
  Session session(*plain.graph, config);
  session.initialize();
  Lengths out{.lengths = o.steps > 0 ? o.steps : static_cast<int>(kLongest), .plan_cache = config.plan_cache};
  const int filled = std::min(config.plan_cache, out.lengths - 1);  // how many come until the cache is full
  const int half = out.lengths / 2;
  double start = 0, full = 0, middle = 0;
  for (int k = 0; k < out.lengths; ++k) {
    const std::int64_t length = length_of(k);
    const Feeds feeds{{plain.inputs[0], hashed_labels(k, length, kCharacters).reshaped({1, length})},
                      {plain.inputs[1], hashed_labels(k + 1, length, kCharacters)}};
    const auto step = [&] {
      const double begin = now();
      session.run(plain.train, feeds);
      return (now() - begin) * 1e3;
    };
    out.new_ms += step() / out.lengths;
    out.again_ms += step() / out.lengths;
    out.plans = std::max(out.plans, session.cached_plans());
    if (k == 0) start = resident_megabytes();
    if (k == filled) full = resident_megabytes();
    if (k == half) middle = resident_megabytes();
  }
  const int later = out.lengths - 1 - half;
  out.resident_mb = resident_megabytes();
  if (filled > 0) out.growth_kb = (full - start) * 1e3 / filled;
  if (later > 0) out.growth_late_kb = (out.resident_mb - middle) * 1e3 / later;
  return out;
}

}  // namespace

void measure_shapes(const Options& o) {
  nlohmann::json models = nlohmann::json::array();
  for (const Suite& suite : {make_mlp(), make_mnist_cnn(true), make_char_transformer()})
    models.push_back(measure_rounds_of(suite, o));
  const Lengths lengths = measure_lengths(o);
  if (o.json) {
    fmt::print("{}\n", nlohmann::json{{"threads", o.threads},
                                      {"models", models},
                                      {"lengths", lengths.lengths},
                                      {"plan_cache", lengths.plan_cache},
                                      {"plans", lengths.plans},
                                      {"new_length_ms", lengths.new_ms},
                                      {"same_length_ms", lengths.again_ms},
                                      {"growth_kb", lengths.growth_kb},
                                      {"growth_late_kb", lengths.growth_late_kb},
                                      {"resident_mb", lengths.resident_mb}}
                           .dump());
    return;
  }
  for (const auto& m : models)
    fmt::print(
        "{}: {:.1f} us per step with one size in a row, {:.1f} us if {} sizes take turns: {:.3f} times as long\n",
        m["suite"].get<std::string>(), m["fixed_us"].get<double>(), m["changing_us"].get<double>(), kSizes,
        m["changing_over_fixed"].get<double>());
  fmt::print(
      "{} lengths: {:.2f} ms a step of a new one, {:.2f} ms the next of it; at most {} plans of {}; {:.0f} kB a new "
      "one until then, {:.1f} kB in the second half\n",
      lengths.lengths, lengths.new_ms, lengths.again_ms, lengths.plans, lengths.plan_cache, lengths.growth_kb,
      lengths.growth_late_kb);
}

}  // namespace belfry::bench
