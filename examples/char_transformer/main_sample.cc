// Writes on from a prompt with what char_transformer has learned: needs its run's directory alone.
#include <fmt/core.h>

#include <cstdio>

#include "examples/char_transformer/text_sampler.h"
#include "tools/command_line.h"

namespace {

void print(std::string_view text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  SamplerOptions options;
  std::string prompt = "\n";
  std::int64_t tokens = 500;
  float temperature = 0.8f, top_p = 1.f;
  bool one_run = false;
  CLI::App app("Samples a text from a run of char_transformer", "char_transformer_sample");
  app.add_option("run,--run-dir", options.run_dir, "the run's directory")->capture_default_str();
  app.add_option("--prompt", prompt, "what to go on from (default: an end of line)");
  app.add_option("--tokens", tokens, "characters behind it")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000'000));
  app.add_option("--temperature", temperature, "below 1 the likely become likelier; 0: the likeliest")
      ->capture_default_str()
      ->check(CLI::Range(0.f, 1000.f));
  app.add_option("--top-k", options.sample.top_k, "only the k likeliest (0: all)")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--top-p", top_p, "only the likeliest that have this share together")
      ->capture_default_str()
      ->check(CLI::Range(1e-6f, 1.f));
  app.add_option("--seed", options.seed, "the same one draws the same text")->capture_default_str();
  app.add_flag("--best", options.best, "the checkpoint with the smallest validation loss, not the latest");
  app.add_flag("--one-run", one_run, "all characters in one run: no more than the window has");
  return belfry::tools::main_of(app, argc, argv, [&] {
    options.sample.temperature = temperature;
    options.sample.top_p = top_p;
    TextSampler sampler(options);
    if (one_run)
      print(sampler.draw_at_once(prompt, tokens));
    else
      sampler.stream(prompt, tokens, print);
    print("\n");
  });
}
