// Draws a text from a run of char_transformer, of which it needs nothing but the directory.
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

  // Gives the prompt, then one character after the other as it is drawn; the session keeps what attention has seen.
  // Places are learned for one window: where it is full, a new one begins with the second half of it.
  void stream(const std::string& prompt, std::int64_t characters, const std::function<void(std::string_view)>& out);
  // Prompt and characters from a single run, so all in one window.
  std::string draw_at_once(const std::string& prompt, std::int64_t characters);

 private:
  Ids encode(const std::string& prompt) const;  // throws unless the vocabulary has each of its characters
  void restore(belfry::Session& session) const;

  SamplerOptions options_;
  std::string checkpoint_;
  belfry::Vocabulary vocabulary_;
  Network network_;
};

// The vocabulary's place in a run's directory.
std::string vocabulary_file(const std::string& run_dir);
