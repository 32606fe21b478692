#include "examples/char_transformer/text_sampler.h"

#include <fmt/format.h>

#include <algorithm>

namespace bf = belfry;

namespace {

// i64 [1, n], as the network needs it.
bf::Array row_of(std::span<const std::int32_t> ids) {
  bf::Array row(bf::i64, {1, static_cast<std::int64_t>(ids.size())});
  std::ranges::copy(ids, row.values<std::int64_t>().begin());
  return row;
}

}  // namespace

std::string vocabulary_file(const std::string& run_dir) { return run_dir + "/vocabulary.txt"; }

TextSampler::TextSampler(const SamplerOptions& options)
    : options_(options),
      checkpoint_(bf::find_checkpoint(options.run_dir + (options.best ? "/min-validation_loss" : ""))),
      vocabulary_(bf::Vocabulary::load(vocabulary_file(options.run_dir))),
      network_(sizes_in(bf::load_checkpoint(checkpoint_))) {
  if (vocabulary_.size() != network_.sizes().characters)
    throw bf::Error(fmt::format("[char_transformer] expected the vocabulary of '{}', {} characters, got {} in '{}'.",
                                checkpoint_, network_.sizes().characters, vocabulary_.size(),
                                vocabulary_file(options.run_dir)));
}

Ids TextSampler::encode(const std::string& prompt) const {
  Ids ids = vocabulary_.encode(prompt);
  if (ids.empty()) throw bf::Error("[char_transformer] expected a prompt of a character or more, got none.");
  const auto unknown = std::ranges::find(ids, 0);
  if (unknown != ids.end())
    throw bf::Error(
        fmt::format("[char_transformer] expected a prompt of characters that occur in the text, got '{}' with "
                    "another one at place {}. The characters are in {}.",
                    prompt, unknown - ids.begin(), vocabulary_file(options_.run_dir)));
  return ids;
}

void TextSampler::restore(bf::Session& session) const {
  session.initialize();
  bf::SaverRestore(checkpoint_).init(session);
}

void TextSampler::stream(const std::string& prompt, std::int64_t characters,
                         const std::function<void(std::string_view)>& out) {
  Ids window = encode(prompt);
  bf::Graph graph;
  graph.set_seed(options_.seed);
  const bf::GraphScope scope(graph);
  const bf::PredictTowerContext tower("");
  // One graph for a prompt of any length and for the characters that follow; a run plans each length once.
  const bf::Tensor ids = bf::placeholder(bf::i64, {1, bf::kAny}, "ids"), position = bf::placeholder(bf::i64, {}, "at");
  std::vector<bf::KeyValueCache> caches;
  for (std::int64_t i = 0; i < network_.sizes().blocks; ++i)
    caches.push_back(bf::key_value_variables(fmt::format("cache{}", i), 1, network_.cache()));
  const bf::Tensor logits = network_(ids, position, caches);
  const bf::Tensor last = bf::slice(logits, {0, bf::size_of(ids, 1) - 1, 0}, {1, 1, bf::kAny});
  bf::Session session(graph);
  restore(session);
  const bf::Callable next = session.make_callable({bf::sample_class(last, options_.sample)}, {ids, position});

  out(prompt);
  const auto size = static_cast<std::size_t>(network_.sizes().window);
  std::size_t seen = 0;  // how many characters of the window are in the caches
  for (std::int64_t k = 0; k < characters; ++k) {
    if (window.size() > size || seen == size) {
      window.erase(window.begin(), window.end() - static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, size / 2)));
      seen = 0;
    }
    const std::vector<bf::Array> feeds{row_of(std::span(window).subspan(seen)),
                                       bf::Array(static_cast<std::int64_t>(seen))};
    const auto drawn = static_cast<std::int32_t>(next(feeds)[0].item());
    seen = window.size();
    window.push_back(drawn);
    out(vocabulary_.token(drawn));
  }
}

std::string TextSampler::draw_at_once(const std::string& prompt, std::int64_t characters) {
  const Ids begin = encode(prompt);
  const NetworkSizes& sizes = network_.sizes();
  // The last character is drawn, but never fed.
  const std::int64_t room = sizes.window + 1 - static_cast<std::int64_t>(begin.size());
  if (characters > room)
    throw bf::Error(
        fmt::format("[char_transformer] expected prompt and characters to fit the window of {}, so {} "
                    "characters or fewer after this prompt, got {}. Without --one-run there may be more.",
                    sizes.window, std::max<std::int64_t>(room, 0), characters));
  bf::Graph graph;
  graph.set_seed(options_.seed);
  const bf::GraphScope scope(graph);
  const bf::PredictTowerContext tower("");
  const auto root = bf::VariableScope::reopen({.reuse = bf::Reuse::automatic});
  const std::vector caches(static_cast<std::size_t>(sizes.blocks), bf::key_value_cache(1, network_.cache()));
  const bf::Tensor text = bf::generate_tokens(bf::constant(row_of(begin)), network_,
                                              {.tokens = characters, .caches = caches, .sample = options_.sample});
  bf::Session session(graph);
  restore(session);
  const bf::Array drawn = session.run(text);
  const auto ids = drawn.values<std::int64_t>();
  return vocabulary_.decode(Ids(ids.begin(), ids.end()));
}
