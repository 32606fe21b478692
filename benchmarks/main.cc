// The benchmark suite: networks defined exactly, so that other frameworks can be measured beside them.
//
//   ./bench --suite mlp --threads 1 --json              time of a training step
//   ./bench --suite mlp --numerics --steps 20 --json    the loss of each step from the fixed start
//   ./bench --suite mlp --explain                       the plan
//   ./bench --suite mlp --limit                         where a step's time goes, and how much of it is oneDNN's
//   ./bench --suite mlp --trace out.json                the same, and every instruction for chrome://tracing
//   ./bench --suite resnet50 --recompute                blocks computed again for their gradients, to save memory
//
// and what trains them:
//
//   ./bench --suite mlp --trainer ps --devices 2        a trainer beside one device, and beside as many processes of
//   one
//                                                       (with --numerics, --limit, --trace: as above, through the
//                                                       trainer)
//   ./bench --input                                     what it costs and gains to have data waiting for the step
//   ./bench --overhead                                  what the trainer's loop and default callbacks add to a step
//   ./bench --sample                                    sampling from char_transformer with a cache, beside PyTorch
//   ./bench --ptb-medium                                PTB's medium model beside PyTorch, by perplexity
//   ./bench --data                                      data pipelines beside bare loops and PyTorch's DataLoader
//   ./bench --soak 600                                  a pipeline at full speed: does its memory grow?
#include <fmt/core.h>

#include "benchmarks/modes.h"
#include "benchmarks/trainers.h"
#include "tools/command_line.h"

namespace belfry::bench {
namespace {

// What is measured is one of these; of a suite, unless it has a network of its own.
void add_modes(CLI::App& app, Options& o) {
  CLI::Option* numerics = app.add_flag("--numerics", o.numerics, "losses from the fixed start, dropout off");
  CLI::Option* explain = app.add_flag("--explain", o.explain, "print the plan");
  CLI::Option* limit = app.add_flag("--limit", o.limit, "where a step's time goes, and how much of it is oneDNN's");
  CLI::Option* trace =
      app.add_option("--trace", o.trace, "write a Chrome trace of the steps here (measures as --limit does)");
  CLI::Option* trainer =
      app.add_option("--trainer", o.trainer, "train so, beside one device and beside processes of one device each")
          ->check(CLI::IsMember(trainer_names()));
  app.add_option("--devices", o.devices, "devices of the trainer")->check(CLI::Range(1, 1024))->needs(trainer);
  CLI::Option* rounds =
      app.add_flag("--rounds", o.rounds, "time a round of steps for each line on stdin, and print items and seconds");
  CLI::Option* input = app.add_flag("--input", o.input, "what it costs and gains to have data waiting for the step");
  CLI::Option* overhead =
      app.add_flag("--overhead", o.overhead, "what the trainer's loop and default callbacks add to a step");
  CLI::Option* sample =
      app.add_flag("--sample", o.sample, "tokens sampled from char_transformer with a cache, beside PyTorch");
  CLI::Option* ptb_medium =
      app.add_flag("--ptb-medium", o.ptb_medium, "the perplexity of PTB's medium model, beside PyTorch's");
  CLI::Option* data =
      app.add_flag("--data", o.data, "what data pipelines cost beside bare loops, and beside PyTorch's DataLoader");
  CLI::Option* soak = app.add_option("--soak", o.soak, "run a pipeline for so many seconds, and watch its memory")
                          ->check(CLI::Range(1, 1'000'000));
  const auto one_of = [](const std::vector<CLI::Option*>& options) {
    for (std::size_t i = 0; i < options.size(); ++i)
      for (std::size_t k = 0; k < i; ++k) options[i]->excludes(options[k]);
  };
  one_of({numerics, explain, limit, rounds, input, overhead, sample, ptb_medium, data, soak});
  one_of({numerics, explain, trace, rounds, input, overhead, sample, ptb_medium, data, soak});
  one_of({trainer, explain, input, overhead, sample, ptb_medium, data, soak});
  for (CLI::Option* alone : {input, overhead, sample, ptb_medium, data, soak})
    alone->excludes(app.get_option("--suite"));
}

void check(const Options& o) {
  if (o.suite.empty() && !o.input && !o.overhead && !o.sample && !o.ptb_medium && !o.data && o.soak == 0)
    throw CLI::RequiredError("--suite");
  if (o.trainer == "simple" && o.devices != 1)
    throw CLI::ValidationError(fmt::format("--devices: expected 1 for the trainer simple, got {}", o.devices));
  if (o.recompute && o.suite != "resnet50")
    throw CLI::ValidationError(fmt::format("--recompute: expected the suite resnet50, got {}", o.suite));
}

void measure_pipelines(const Options& o) {
#ifdef BELFRY_DATA_BENCH
  return o.data ? measure_data(o) : measure_soak(o);
#else
  throw Error(fmt::format("[bench] expected a build with OpenCV for {}, got one without. Install it and build again.",
                          o.data ? "--data" : "--soak"));
#endif
}

int main_of(int argc, char** argv) {
  Options o;
  CLI::App app("Belfry's benchmark suite", "bench");
  app.add_option("--suite", o.suite, "a name from the suite")->check(CLI::IsMember(suite_names()));
  app.add_option("--threads", o.threads, "threads of a device")->check(CLI::Range(1, 1024));
  app.add_option("--steps", o.steps, "steps a repeat (0: the suite's own)")->check(CLI::Range(0, 1'000'000));
  app.add_option("--repeats", o.repeats, "timed repeats")->check(CLI::Range(1, 1'000'000));
  app.add_option("--warmup", o.warmup, "steps before timing (-1: the suite's own)")->check(CLI::Range(-1, 1'000'000));
  app.add_option("--precision", o.precision, "what products multiply with")
      ->check(CLI::IsMember({"f32", "bf16", "bf16_emulated"}));
  app.add_flag("--json", o.json, "one JSON line");
  app.add_flag("--recompute", o.recompute, "compute blocks again for their gradients, to save memory (resnet50)");
  add_modes(app, o);
  return tools::main_of(app, argc, argv, [&] {
    check(o);
    o.limit = o.limit || !o.trace.empty();  // a trace needs the profiler, which would slow plain timing down
    if (o.input) return measure_input(o);
    if (o.overhead) return measure_overhead(o);
    if (o.sample) return measure_sample(o);
    if (o.ptb_medium) return measure_ptb_medium(o);
    if (o.data || o.soak > 0) return measure_pipelines(o);
    if (o.rounds) return measure_rounds(o);
    if (!o.trainer.empty()) return measure_trainer(o);
    measure_step(o);
  });
}

}  // namespace
}  // namespace belfry::bench

int main(int argc, char** argv) { return belfry::bench::main_of(argc, argv); }
