#include "examples/char_transformer/show_sample.h"

#include <fmt/core.h>

#include <algorithm>

namespace bf = belfry;

ShowSample::ShowSample(bf::Vocabulary vocabulary, const Ids& prompt)
    : vocabulary_(std::move(vocabulary)), prompt_(bf::i64, {1, static_cast<std::int64_t>(prompt.size())}) {
  std::ranges::copy(prompt, prompt_.values<std::int64_t>().begin());
}

void ShowSample::setup_graph() { sample_ = trainer().inference_towers().get_predictor({"prompt"}, {"sample/tokens"}); }

void ShowSample::trigger() {
  const bf::Array drawn = sample_({prompt_})[0];
  const auto ids = drawn.values<std::int64_t>();
  fmt::print("--- epoch {}\n{}\n", trainer().epoch_num(), vocabulary_.decode(Ids(ids.begin(), ids.end())));
  std::fflush(stdout);
}
