// Continues a prompt with what char_transformer has learned; needs only its run's directory.
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
  std::string prompt;
  std::int64_t tokens = 500;
  float temperature = 0.8f, top_p = 1.f;
  bool one_run = false;
  belfry::tools::CommandLine command("Samples a text from a run of char_transformer", "char_transformer_sample");
  command.text("run,--run-dir", options.run_dir, "the run's directory");
  command.text("--prompt", prompt, "the text to continue (default: an end of line)");
  command.number("--tokens", tokens, {1, 1'000'000'000}, "characters after the prompt");
  command.number("--temperature", temperature, {0.f, 1000.f},
                 "below 1 likely characters become likelier; 0: always the likeliest");
  command.number("--top-k", options.sample.top_k, {0, 1'000'000}, "only the k likeliest (0: all)");
  command.number("--top-p", top_p, {1e-6f, 1.f}, "only the likeliest that together have this share");
  command.seed("--seed", options.seed, "the same seed draws the same text");
  command.flag("--best", options.best, "the checkpoint with the smallest validation loss, not the latest");
  command.flag("--one-run", one_run, "all characters in one run: at most the window's size");
  return command.run(argc, argv, [&] {
    if (prompt.empty()) prompt.push_back('\n');
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
