// --ptb-medium: Penn Treebank's medium model compared to PyTorch, by perplexity: embedding 10000x650, 2 LSTM layers of
// 650 over 35 steps of 20 streams, fc10000. No dropout, as its masks differ. Initial values and text from the hash.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "benchmarks/hashed.h"
#include "benchmarks/modes.h"
#include "benchmarks/peer_python.h"
#include "benchmarks/plain_step.h"
#include "benchmarks/ptb.h"

namespace belfry::bench {
namespace {

constexpr PtbSizes kMedium{.time = 35, .batch = 20, .units = 650, .words = 10000, .bound = 0.05};
constexpr int kSteps = 200;

// A text that is partly predictable: about every second word is one of four that follow the previous one; the rest are
// mostly common words, small numbers.
Array hashed_text(std::int64_t count) {
  Array out(i32, {count});
  std::int64_t word = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::uint32_t>(i);
    if (hashed(3000, at) % 2 == 0) {
      word = (word * 3 + hashed(3001, at) % 4) % kMedium.words;
    } else {
      const std::int64_t v = hashed(3002, at) >> 16, squared = v * v >> 16;
      word = (squared * squared >> 16) * kMedium.words >> 16;
    }
    out.values<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(word);
  }
  return out;
}

struct Run {
  std::vector<double> losses;
  double seconds = 0;
};

Run ours(int steps, int threads) {
  const Suite suite = make_ptb("ptb_medium", kMedium);
  const PlainStep plain = make_plain_step(suite);
  Session session(*plain.graph, {.devices = {{threads}}});
  session.initialize();
  fill_parameters(suite, session);
  Flow streams = token_streams(hashed_text(std::int64_t{steps} * suite.items + 1),
                               {.streams = kMedium.batch, .sequence_length = kMedium.time});
  streams.start_epoch(0);
  Run out;
  const double begin = now();
  while (const std::optional<DataPoint> point = streams.next()) {
    const Feeds feeds{{plain.inputs[0], (*point)[0]}, {plain.inputs[1], (*point)[1].reshaped({suite.items})}};
    out.losses.push_back(session.run({plain.loss, plain.train}, feeds)[0].item());
  }
  out.seconds = now() - begin;
  return out;
}

// PyTorch's line; nothing if there is no such Python, or it failed.
std::optional<nlohmann::json> pytorchs(int steps, int threads) {
  const std::optional<std::string> python = python_with_torch();
  if (!python) return std::nullopt;
  const std::string line = last_line_of_python(*python, BELFRY_PTB_MEDIUM, fmt::format("{} {}", steps, threads));
  if (line.empty()) return std::nullopt;
  return nlohmann::json::parse(line);
}

// After each step, over all words so far.
std::vector<double> perplexities(const std::vector<double>& losses) {
  std::vector<double> out;
  double sum = 0;
  for (const double loss : losses) {
    sum += loss;
    out.push_back(std::exp(sum / static_cast<double>(out.size() + 1)));
  }
  return out;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double out = 0;
  for (std::size_t i = 0; i < a.size(); ++i) out = std::max(out, std::abs(a[i] - b[i]) / b[i]);
  return out;
}

}  // namespace

void measure_ptb_medium(const Options& options) {
  const int steps = options.steps > 0 ? options.steps : kSteps;
  const Run run = ours(steps, options.threads);
  const std::vector<double> so_far = perplexities(run.losses);
  nlohmann::json out{{"steps", steps},
                     {"threads", options.threads},
                     {"perplexity", so_far.back()},
                     {"last_step_perplexity", std::exp(run.losses.back())},
                     {"losses", run.losses},
                     {"seconds", run.seconds}};
  if (const std::optional<nlohmann::json> peer = pytorchs(steps, options.threads)) {
    const std::vector<double> losses = (*peer)["losses"], theirs = perplexities(losses);
    std::vector<double> each, theirs_each;
    for (const double loss : run.losses) each.push_back(std::exp(loss));
    for (const double loss : losses) theirs_each.push_back(std::exp(loss));
    out["pytorch"] = (*peer)["torch"];
    out["pytorch_perplexity"] = theirs.back();
    out["pytorch_last_step_perplexity"] = theirs_each.back();
    out["pytorch_losses"] = losses;
    out["pytorch_seconds"] = (*peer)["seconds"];
    out["largest_difference"] = largest_difference(so_far, theirs);
    out["largest_difference_of_a_step"] = largest_difference(each, theirs_each);
  }
  if (options.json) return fmt::print("{}\n", out.dump());
  fmt::print("perplexity of {} steps: {:.4f}, of the last {:.4f}\n", steps, so_far.back(), std::exp(run.losses.back()));
  if (out.contains("pytorch"))
    fmt::print("PyTorch {}: {:.4f}, {:.4f}; largest relative difference {:.2g}, of a single step {:.2g}\n",
               out["pytorch"].get<std::string>(), out["pytorch_perplexity"].get<double>(),
               out["pytorch_last_step_perplexity"].get<double>(), out["largest_difference"].get<double>(),
               out["largest_difference_of_a_step"].get<double>());
  else
    fmt::print("no Python with PyTorch was found to compare with\n");
}

}  // namespace belfry::bench
