// The plain step of a suite: its time, its losses, its plan, and where its time goes.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "benchmarks/modes.h"
#include "benchmarks/plain_step.h"

namespace belfry::bench {
namespace {

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

void numerics(const Suite& suite, const PlainStep& plain, Session& session, const Options& options) {
  std::vector<Array> losses;
  for (int k = 0; k < options.steps_of(suite); ++k)
    losses.push_back(session.run(std::vector<Fetch>{plain.loss, plain.train}, feeds_of(suite, plain, k))[0]);
  print_losses(suite, losses, options);
}

void timing(const Suite& suite, const PlainStep& plain, Session& session, const Options& options) {
  const int steps = options.steps_of(suite), warmup = options.warmup_of(suite);
  const auto step = session.make_callable({plain.loss, plain.train}, plain.inputs);
  const auto run = [&](int k) { step(batch_of(suite, k)); };
  for (int k = 0; k < warmup; ++k) run(k);
  std::vector<double> times;
  for (int r = 0; r < options.repeats_or(3); ++r) {
    const double begin = now();
    for (int k = 0; k < steps; ++k) run(k);
    times.push_back((now() - begin) / steps);
  }
  std::ranges::sort(times);
  const double median = times[times.size() / 2], best = times.front();
  const nlohmann::json line{{"suite", suite.name},
                            {"threads", options.threads},
                            {"precision", options.precision},
                            {"steps", steps},
                            {"repeats", options.repeats_or(3)},
                            {"ms_median", median * 1e3},
                            {"ms_min", best * 1e3},
                            {"items_per_s_median", suite.items / median},
                            {"items_per_s_best", suite.items / best},
                            {"rss_mb", peak_rss_mb()},
                            {"recompute", options.recompute},
                            {"arena_bytes", session.arena_bytes()}};
  if (options.json)
    fmt::print("{}\n", line.dump());
  else
    fmt::print("{:16} {} threads  median {:.3f} ms  best {:.3f} ms  {:.1f} items/s  {:.0f} MB, arena {:.1f} MB\n",
               suite.name, options.threads, median * 1e3, best * 1e3, suite.items / best, peak_rss_mb(),
               static_cast<double>(session.arena_bytes()) / 1e6);
}

// Where a step's time goes, and how much of it is inside oneDNN.
void limit(const Suite& suite, const PlainStep& plain, Session& session, const Options& options) {
  const int steps = options.steps_of(suite), warmup = options.warmup_of(suite);
  for (int k = 0; k < warmup; ++k) session.run(std::vector<Fetch>{plain.loss, plain.train}, feeds_of(suite, plain, k));
  session.clear_profile();
  const auto step = session.make_callable({plain.loss, plain.train}, plain.inputs);
  const double begin = now();
  for (int k = 0; k < steps; ++k) step(batch_of(suite, k));
  print_profile(suite, session, {.steps = steps, .seconds = now() - begin}, options);
}

}  // namespace

void print_profile(const Suite& suite, const Session& session, const ProfiledSteps& profiled, const Options& options) {
  const double total = profiled.seconds / profiled.steps * 1e3;
  double onednn = 0;
  nlohmann::json ops = nlohmann::json::object();
  for (const ProfileTotal& t : session.profile_totals()) {
    const double ms = t.seconds / profiled.steps * 1e3;
    if (t.in_library) onednn += ms;
    ops[t.op] = ops.value(t.op, 0.0) + ms;
    if (!options.json) fmt::print("{:32} {:9.4f} ms{}\n", t.op, ms, t.in_library ? "  oneDNN" : "");
  }
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"suite", suite.name},
                                      {"threads", options.threads},
                                      {"step_ms", total},
                                      {"onednn_ms", onednn},
                                      {"onednn_share", onednn / total},
                                      {"ops_ms", ops}}
                           .dump());
  else
    fmt::print("step {:.4f} ms, oneDNN's primitives {:.4f} ms, {:.1f} % of the step\n", total, onednn,
               100 * onednn / total);
  if (!options.trace.empty()) session.write_trace(options.trace);
}

void print_losses(const Suite& suite, const std::vector<Array>& losses, const Options& options) {
  nlohmann::json all = nlohmann::json::array();
  for (const Array& loss : losses) {
    nlohmann::json step = nlohmann::json::array();
    for (std::int64_t i = 0; i < loss.elements(); ++i) step.push_back(loss.item(i));
    all.push_back(loss.shape().rank() == 0 ? step[0] : step);
  }
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"suite", suite.name}, {"loss", all}}.dump());
  else
    for (std::size_t k = 0; k < all.size(); ++k) fmt::print("{} {}\n", k, all[k].dump());
}

void measure_step(const Options& o) {
  const Suite suite = make_suite(o.suite, {.dropout = !o.numerics, .recompute = o.recompute});
  const PlainStep plain = make_plain_step(suite);
  Session session(*plain.graph, {.devices = {{o.threads}}, .profile = o.limit, .precision = o.session_precision()});
  session.initialize();
  fill_parameters(suite, session);
  if (o.explain)
    fmt::print("{}", session.explain({plain.loss, plain.train}, feeds_of(suite, plain, 0)));
  else if (o.numerics)
    numerics(suite, plain, session, o);
  else if (o.limit)
    limit(suite, plain, session, o);
  else
    timing(suite, plain, session, o);
}

}  // namespace belfry::bench
