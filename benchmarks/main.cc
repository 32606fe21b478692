// The benchmark suite: networks defined exactly, so that other frameworks can be measured beside them.
//
//   ./bench --suite mlp --threads 1 --json              time of a training step
//   ./bench --suite mlp --numerics --steps 20 --json    the loss of each step from the fixed start
//   ./bench --suite mlp --explain                       the plan
//   ./bench --suite mlp --limit                         where a step's time goes, and how much of it is oneDNN's
//   ./bench --suite resnet50 --recompute                blocks computed again for their gradients, to save memory
//   ./bench --suite mlp --trace out.json                the same, and every instruction for chrome://tracing
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "benchmarks/suite.h"
#include "tools/command_line.h"

namespace belfry::bench {
namespace {

struct Options {
  std::string suite;
  int threads = 1, steps = 0, repeats = 3, warmup = -1;
  bool json = false, numerics = false, explain = false, limit = false, recompute = false;
  std::string trace, precision = "f32";
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

Feeds feeds_of(const Suite& suite, int step) {
  const std::vector<Array>& batch = suite.batches[static_cast<std::size_t>(step) % suite.batches.size()];
  Feeds feeds;
  for (std::size_t i = 0; i < batch.size(); ++i) feeds.emplace_back(suite.inputs[i], batch[i]);
  return feeds;
}

void numerics(const Suite& suite, Session& session, const Options& options) {
  nlohmann::json losses = nlohmann::json::array();
  for (int k = 0; k < (options.steps > 0 ? options.steps : suite.steps); ++k) {
    const Array loss = session.run(std::vector<Fetch>{suite.loss, suite.train}, feeds_of(suite, k))[0];
    nlohmann::json step = nlohmann::json::array();
    for (std::int64_t i = 0; i < loss.elements(); ++i) step.push_back(loss.item(i));
    losses.push_back(loss.shape().rank() == 0 ? step[0] : step);
  }
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"suite", suite.name}, {"loss", losses}}.dump());
  else
    for (std::size_t k = 0; k < losses.size(); ++k) fmt::print("{} {}\n", k, losses[k].dump());
}

void timing(const Suite& suite, Session& session, const Options& options) {
  const int steps = options.steps > 0 ? options.steps : suite.steps,
            warmup = options.warmup >= 0 ? options.warmup : suite.warmup;
  const auto step = session.make_callable({suite.loss, suite.train}, suite.inputs);
  const auto run = [&](int k) { step(suite.batches[static_cast<std::size_t>(k) % suite.batches.size()]); };
  for (int k = 0; k < warmup; ++k) run(k);
  std::vector<double> times;
  for (int r = 0; r < options.repeats; ++r) {
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
                            {"repeats", options.repeats},
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
void limit(const Suite& suite, Session& session, const Options& options) {
  const int steps = options.steps > 0 ? options.steps : suite.steps;
  const int warmup = options.warmup >= 0 ? options.warmup : suite.warmup;
  for (int k = 0; k < warmup; ++k) session.run(std::vector<Fetch>{suite.loss, suite.train}, feeds_of(suite, k));
  session.clear_profile();
  const auto step = session.make_callable({suite.loss, suite.train}, suite.inputs);
  const double begin = now();
  for (int k = 0; k < steps; ++k) step(suite.batches[static_cast<std::size_t>(k) % suite.batches.size()]);
  const double total = (now() - begin) / steps * 1e3;
  double onednn = 0;
  nlohmann::json ops = nlohmann::json::object();
  for (const ProfileTotal& t : session.profile_totals()) {
    const double ms = t.seconds / steps * 1e3;
    if (t.onednn) onednn += ms;
    ops[t.op] = ops.value(t.op, 0.0) + ms;
    if (!options.json) fmt::print("{:32} {:9.4f} ms{}\n", t.op, ms, t.onednn ? "  oneDNN" : "");
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

Precision precision_of(const std::string& name) {
  if (name == "f32") return Precision::f32;
  return name == "bf16" ? Precision::bf16 : Precision::bf16_emulated;
}

void measure(const Options& o) {
  const Suite suite = make_suite(o.suite, {.dropout = !o.numerics, .recompute = o.recompute});
  Session session(*suite.graph, {.devices = {{o.threads}}, .profile = o.limit, .precision = precision_of(o.precision)});
  session.initialize();
  fill_parameters(suite, session);
  if (o.explain)
    fmt::print("{}", session.explain({suite.loss, suite.train}, feeds_of(suite, 0)));
  else if (o.numerics)
    numerics(suite, session, o);
  else if (o.limit)
    limit(suite, session, o);
  else
    timing(suite, session, o);
}

int main_of(int argc, char** argv) {
  Options o;
  CLI::App app("Belfry's benchmark suite", "bench");
  app.add_option("--suite", o.suite, "a name from the suite")->required()->check(CLI::IsMember(suite_names()));
  app.add_option("--threads", o.threads, "threads of the device")->check(CLI::Range(1, 1024));
  app.add_option("--steps", o.steps, "steps a repeat (0: the suite's own)")->check(CLI::Range(0, 1'000'000));
  app.add_option("--repeats", o.repeats, "timed repeats")->check(CLI::Range(1, 1'000'000));
  app.add_option("--warmup", o.warmup, "steps before timing (-1: the suite's own)")->check(CLI::Range(-1, 1'000'000));
  app.add_option("--precision", o.precision, "what products multiply with")
      ->check(CLI::IsMember({"f32", "bf16", "bf16_emulated"}));
  app.add_flag("--json", o.json, "one JSON line");
  app.add_flag("--recompute", o.recompute, "compute blocks again for their gradients, to save memory (resnet50)");
  CLI::Option* numerics = app.add_flag("--numerics", o.numerics, "losses from the fixed start, dropout off");
  CLI::Option* explain = app.add_flag("--explain", o.explain, "print the plan")->excludes(numerics);
  app.add_flag("--limit", o.limit, "where a step's time goes, and how much of it is oneDNN's")
      ->excludes(numerics)
      ->excludes(explain);
  app.add_option("--trace", o.trace, "write a Chrome trace of the steps here (measures as --limit does)")
      ->excludes(numerics)
      ->excludes(explain);
  return tools::main_of(app, argc, argv, [&] {
    if (o.recompute && o.suite != "resnet50")
      throw CLI::ValidationError(fmt::format("--recompute: expected the suite resnet50, got {}", o.suite));
    o.limit = o.limit || !o.trace.empty();  // a trace needs the profiler, which would slow plain timing down
    measure(o);
  });
}

}  // namespace
}  // namespace belfry::bench

int main(int argc, char** argv) { return belfry::bench::main_of(argc, argv); }
