// Draws a text from a run of char_transformer; needs only the run's directory.
#pragma once

#include <belfry/belfry.h>

#include <functional>
#include <string>
#include <string_view>

#include "examples/char_transformer/network.h"
#include "examples/char_transformer/text.h"

struct SamplerOptions {
  std::string run_dir = "train_log/char_transformer";
  bool best = false;  // the checkpoint with the smallest loss on the held-out text, not the latest
  belfry::SampleOptions sample{};
  std::uint64_t seed = 1;
};

class TextSampler {
 public:
  explicit TextSampler(const SamplerOptions& options);

  // Passes on the prompt, then each character as it is drawn; the session keeps what attention has seen.
  // Places are learned for one window: when it is full, a new one begins with the second half of it.
  void stream(const std::string& prompt, std::int64_t characters, const std::function<void(std::string_view)>& out);
  // Prompt and characters in a single run, and so in one window.
  std::string draw_at_once(const std::string& prompt, std::int64_t characters);

 private:
  Ids encode(const std::string& prompt) const;  // throws unless the vocabulary has each of its characters
  void restore(belfry::Session& session) const;

  SamplerOptions options_;
  std::string checkpoint_;
  belfry::Vocabulary vocabulary_;
  Network network_;
};

// The vocabulary's path in a run's directory.
std::string vocabulary_file(const std::string& run_dir);
