#include "belfry/dataflow/sources/token_streams.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/dataflow/indexed_flow.h"
#include "belfry/dataflow/internal/utf8.h"

namespace belfry {
namespace {

// ids [streams, each], row-major: stream s is row s. Step t of it has the target t + 1, which for the last step of a
// stream is the next stream's first token, or one that is left over.
class TokenStreamsFlow final : public IndexedFlow {
 public:
  TokenStreamsFlow(Array ids, const TokenStreamOptions& options)
      : IndexedFlow(FlowIdentity{.kind = "token_streams",
                                 .parameters = {{"tokens", ids.elements()},
                                                {"streams", options.streams},
                                                {"sequence_length", options.sequence_length},
                                                {"time_major", options.time_major},
                                                {"keep", options.remainder == Remainder::keep},
                                                {"begins", options.begins}}}),
        ids_(std::move(ids)),
        options_(options),
        steps_((ids_.elements() - 1) / options.streams) {
    const std::int64_t length = options.sequence_length;
    count_ = options.remainder == Remainder::keep ? (steps_ + length - 1) / length : steps_ / length;
  }

  std::int64_t count() const override { return count_; }
  DataPoint at(std::int64_t index) const override {
    const std::int64_t first = index * options_.sequence_length;
    DataPoint out{cut(first, 0), cut(first, 1)};
    if (options_.begins) out.emplace_back(index == 0);
    return out;
  }
  std::string describe() const override {
    return fmt::format("token_streams({} x {})", options_.streams, options_.sequence_length);
  }

 private:
  // The steps of every stream from step `first` on, shifted by `later` tokens.
  Array cut(std::int64_t first, std::int64_t later) const {
    const std::int64_t steps = std::min(options_.sequence_length, steps_ - first), streams = options_.streams;
    Array out(i32, options_.time_major ? Shape{steps, streams} : Shape{streams, steps});
    const std::int32_t* from = ids_.values<std::int32_t>().data() + first + later;
    std::int32_t* to = out.values<std::int32_t>().data();
    const std::int64_t step = options_.time_major ? streams : 1, stream = options_.time_major ? 1 : steps;
    for (std::int64_t s = 0; s < streams; ++s)
      for (std::int64_t t = 0; t < steps; ++t) to[s * stream + t * step] = from[s * steps_ + t];
    return out;
  }

  const Array ids_;
  const TokenStreamOptions options_;
  const std::int64_t steps_;  // of each stream
  std::int64_t count_ = 0;
};

Flow make_streams(Array ids, const TokenStreamOptions& options, const std::string& of) {
  BELFRY_CHECK(options.streams >= 1 && options.sequence_length >= 1,
               "[token_streams] expected 1 stream and 1 step or more, got {} and {}.", options.streams,
               options.sequence_length);
  const std::int64_t needed =
      options.streams * (options.remainder == Remainder::keep ? 1 : options.sequence_length) + 1;
  BELFRY_CHECK(ids.elements() >= needed,
               "[token_streams] expected {} tokens or more for {} streams of {} steps, got {}{}. Use fewer streams or "
               "shorter sequences.",
               needed, options.streams, options.sequence_length, ids.elements(), of);
  return std::make_shared<TokenStreamsFlow>(std::move(ids), options);
}

}  // namespace

Flow token_streams(const Array& ids, TokenStreamOptions options) {
  BELFRY_CHECK(ids.dtype() == i32 && ids.shape().rank() == 1,
               "[token_streams] expected ids i32 [tokens], got {} {}. Use cast() and a flat array.",
               name_of(ids.dtype()), to_string(ids.shape()));
  return make_streams(ids.clone(), options, "");
}

Flow text_streams(const std::string& path, TextStreamOptions options) {
  BELFRY_CHECK(static_cast<bool>(options.vocabulary),
               "[text_streams] expected a vocabulary, got none. Make one with Vocabulary::from_files().");
  std::string text;
  append_contents(text, path, "text_streams", {.bytes = options.max_unpacked_bytes});
  check_utf8(text, "text_streams", path);
  const std::vector<std::int32_t> tokens = options.vocabulary.encode(text);
  Array ids(i32, {static_cast<std::int64_t>(tokens.size())});
  std::ranges::copy(tokens, ids.values<std::int32_t>().data());
  return make_streams(std::move(ids), options.streams, fmt::format(" in '{}'", path));
}

}  // namespace belfry
