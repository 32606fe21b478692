// The benchmark suite: networks defined exactly, so that other frameworks can be compared.
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
//   ./bench --staging                                   what it costs and gains to stage points one step ahead
//   ./bench --overhead                                  what the trainer's loop and default callbacks add to a step
//   ./bench --sample                                    sampling from char_transformer with a cache, beside PyTorch
//   ./bench --shapes                                    what changing batch sizes and new sequence lengths cost
//   ./bench --compile                                   defining and compiling networks of 100 to 3,200 layers
//   ./bench --compile --layers 400                      of 100 to 400
//   ./bench --ptb-medium                                PTB's medium model beside PyTorch, by perplexity
//   ./bench --data                                      data pipelines beside bare loops and PyTorch's DataLoader
//   ./bench --soak 600                                  a pipeline at full speed: does its memory grow?
#include <fmt/core.h>

#include "benchmarks/modes.h"
#include "benchmarks/trainers.h"
#include "tools/cli_main.h"

namespace belfry::bench {

#ifndef BELFRY_DATA_BENCH
void measure_data(const Options&) {
  throw Error("[bench] expected a build with the part images for --data, got one without. See build/release/parts.");
}
void measure_soak(const Options&) {
  throw Error("[bench] expected a build with the part images for --soak, got one without. See build/release/parts.");
}
#endif

namespace {

// Measurements that have their own network, or none.
struct OwnMode {
  const char *flag, *meaning;
  void (*measure)(const Options& options);
  bool chosen = false;
};

std::vector<OwnMode> own_modes() {
  return {{"--input", "what it costs and gains to have data ready for the step", measure_input},
          {"--staging", "what it costs and gains to stage points one step ahead", measure_staging},
          {"--overhead", "what the trainer's loop and default callbacks add to a step", measure_overhead},
          {"--sample", "tokens sampled from char_transformer with a cache, compared to PyTorch", measure_sample},
          {"--shapes", "what changing batch sizes and new sequence lengths cost", measure_shapes},
          {"--compile", "how long deep networks take to define and to compile", measure_compile},
          {"--ptb-medium", "the perplexity of PTB's medium model, compared to PyTorch's", measure_ptb_medium},
          {"--data", "what data pipelines cost, compared to bare loops and PyTorch's DataLoader", measure_data}};
}

// Chooses one of these measurements; they measure a suite, unless in `own`.
void add_modes(CLI::App& app, Options& o, std::vector<OwnMode>& own) {
  CLI::Option* numerics = app.add_flag("--numerics", o.numerics, "losses from the fixed start, dropout off");
  CLI::Option* explain = app.add_flag("--explain", o.explain, "print the plan");
  CLI::Option* limit = app.add_flag("--limit", o.limit, "where a step's time goes, and how much of it is oneDNN's");
  CLI::Option* trace =
      app.add_option("--trace", o.trace, "write a Chrome trace of the steps here (measures as --limit does)");
  CLI::Option* trainer = app.add_option("--trainer", o.trainer,
                                        "train with this, compared to one device and to processes of one device each")
                             ->check(CLI::IsMember(trainer_names()));
  app.add_option("--devices", o.devices, "devices of the trainer")->check(CLI::Range(1, 1024))->needs(trainer);
  CLI::Option* rounds =
      app.add_flag("--rounds", o.rounds, "time a round of steps for each line on stdin, and print items and seconds");
  std::vector<CLI::Option*> alone{
      app.add_option("--soak", o.soak, "run a pipeline for this many seconds, and watch its memory")
          ->check(CLI::Range(1, 1'000'000))};
  for (OwnMode& mode : own) alone.push_back(app.add_flag(mode.flag, mode.chosen, mode.meaning));
  const auto one_of = [](const std::vector<CLI::Option*>& options) {
    for (std::size_t i = 0; i < options.size(); ++i)
      for (std::size_t k = 0; k < i; ++k) options[i]->excludes(options[k]);
  };
  one_of({numerics, explain, limit, rounds});
  one_of({numerics, explain, trace, rounds});
  one_of({trainer, explain});
  one_of(alone);
  for (CLI::Option* mode : alone)
    for (CLI::Option* other : {numerics, explain, limit, trace, rounds, trainer, app.get_option("--suite")})
      mode->excludes(other);
}

void check(const Options& o) {
  if (o.trainer == "simple" && o.devices != 1)
    throw CLI::ValidationError(fmt::format("--devices: expected 1 for the trainer simple, got {}", o.devices));
  if (o.recompute && o.suite != "resnet50")
    throw CLI::ValidationError(fmt::format("--recompute: expected the suite resnet50, got {}", o.suite));
}

int main_of(int argc, char** argv) {
  Options o;
  std::vector<OwnMode> own = own_modes();
  CLI::App app("Belfry's benchmark suite", "bench");
  app.add_option("--suite", o.suite, "a name from the suite")->check(CLI::IsMember(suite_names()));
  app.add_option("--threads", o.threads, "threads of a device")->check(CLI::Range(1, 1024));
  app.add_option("--steps", o.steps, "steps per repeat (0: the suite's own)")->check(CLI::Range(0, 1'000'000));
  app.add_option("--repeats", o.repeats, "timed repeats")->check(CLI::Range(1, 1'000'000));
  app.add_option("--warmup", o.warmup, "steps before timing (-1: the suite's own)")->check(CLI::Range(-1, 1'000'000));
  app.add_option("--precision", o.precision, "the type that products multiply in")
      ->check(CLI::IsMember({"f32", "bf16", "bf16_emulated"}));
  CLI::Option* layers =
      app.add_option("--layers", o.layers, "layers of the deepest network of --compile (100, or that doubled)")
          ->check(CLI::Range(100, 100'000));
  app.add_flag("--json", o.json, "one JSON line");
  app.add_flag("--recompute", o.recompute, "compute blocks again for their gradients, to save memory (resnet50)");
  add_modes(app, o, own);
  layers->needs("--compile");
  return tools::main_of(app, argc, argv, [&] {
    check(o);
    o.limit = o.limit || !o.trace.empty();  // a trace needs the profiler, which would slow plain timing down
    for (const OwnMode& mode : own)
      if (mode.chosen) return mode.measure(o);
    if (o.soak > 0) return measure_soak(o);
    if (o.suite.empty()) throw CLI::RequiredError("--suite");
    if (o.rounds) return measure_rounds(o);
    if (!o.trainer.empty()) return measure_trainer(o);
    measure_step(o);
  });
}

}  // namespace
}  // namespace belfry::bench

int main(int argc, char** argv) { return belfry::bench::main_of(argc, argv); }
