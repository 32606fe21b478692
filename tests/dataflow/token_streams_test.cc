#include "belfry/dataflow/sources/token_streams.h"

#include "tests/dataflow/flow_testing.h"
#include "tests/dataflow/idx_files.h"
#include "tests/dataflow/restore_checks.h"

namespace belfry {
namespace {

Array ids(int count) {
  Array out(i32, {count});
  for (int i = 0; i < count; ++i) out.values<std::int32_t>()[static_cast<std::size_t>(i)] = i;
  return out;
}

std::vector<int> ints_of(const Array& array) {
  const auto values = array.values<std::int32_t>();
  return {values.begin(), values.end()};
}

// Stream by stream what a pass gives of component k, however the points are cut and lie.
std::vector<std::vector<int>> streams_of(Flow flow, std::size_t k, bool time_major = true) {
  std::vector<std::vector<int>> out;
  flow.reset_state();
  while (const auto point = flow.next()) {
    const Array& part = point->at(k);
    const std::int64_t streams = part.shape()[time_major ? 1 : 0], steps = part.shape()[time_major ? 0 : 1];
    out.resize(static_cast<std::size_t>(streams));
    for (std::int64_t s = 0; s < streams; ++s)
      for (std::int64_t t = 0; t < steps; ++t)
        out[static_cast<std::size_t>(s)].push_back(
            static_cast<int>(part.item(time_major ? t * streams + s : s * steps + t)));
  }
  return out;
}

std::vector<int> from(int first, int count) {
  std::vector<int> out;
  for (int i = 0; i < count; ++i) out.push_back(first + i);
  return out;
}

TEST(TokenStreams, EachStreamIsAnEqualPartReadInOrder) {
  Flow flow = token_streams(ids(9), {.streams = 2, .sequence_length = 2});
  EXPECT_EQ(flow.known_size(), 2);
  const DataPoint first = *flow.next(), second = *flow.next();
  EXPECT_EQ(first[0].shape(), (Shape{2, 2}));
  EXPECT_EQ(ints_of(first[0]), (std::vector{0, 4, 1, 5}));
  EXPECT_EQ(ints_of(first[1]), (std::vector{1, 5, 2, 6}));
  EXPECT_EQ(ints_of(second[0]), (std::vector{2, 6, 3, 7}));
  EXPECT_EQ(ints_of(second[1]), (std::vector{3, 7, 4, 8}));
  EXPECT_EQ(flow.next(), std::nullopt);
}

TEST(TokenStreams, WhatDoesNotFillAPointIsDroppedOrShorter) {
  for (const bool time_major : {true, false})
    for (const int tokens : {12, 13, 14, 23}) {
      const int steps = (tokens - 1) / 3, whole = steps / 2 * 2;
      for (const Remainder remainder : {Remainder::drop, Remainder::keep}) {
        const int used = remainder == Remainder::keep ? steps : whole;
        const Flow flow = token_streams(
            ids(tokens), {.streams = 3, .sequence_length = 2, .time_major = time_major, .remainder = remainder});
        for (std::size_t k : {0u, 1u})
          EXPECT_EQ(streams_of(flow, k, time_major),
                    (std::vector{from(static_cast<int>(k), used), from(steps + static_cast<int>(k), used),
                                 from(2 * steps + static_cast<int>(k), used)}))
              << tokens;
      }
    }
}

TEST(TokenStreams, APointMayBeOneStep) {
  const Flow flow = token_streams(ids(7), {.streams = 2, .sequence_length = 1});
  EXPECT_EQ(streams_of(flow, 0), (std::vector{from(0, 3), from(3, 3)}));
  EXPECT_EQ(streams_of(flow, 1), (std::vector{from(1, 3), from(4, 3)}));
}

TEST(TokenStreams, SaysWhereTheStreamsBegin) {
  Flow flow = token_streams(ids(13), {.streams = 2, .sequence_length = 2, .begins = true});
  for (std::uint64_t epoch : {0, 1}) {
    flow.start_epoch(epoch);
    EXPECT_EQ((*flow.next())[2].item(), 1);
    EXPECT_EQ((*flow.next())[2].item(), 0);
  }
}

TEST(TokenStreams, APositionIsRestoredExactly) {
  for (const Remainder remainder : {Remainder::drop, Remainder::keep}) {
    const auto make = [=] {
      return token_streams(ids(30), {.streams = 2, .sequence_length = 4, .remainder = remainder});
    };
    expect_exact_restore(make);
    expect_random_access_in_order(make);
  }
}

TEST(TokenStreams, ReadsTexts) {
  TemporaryFiles files;
  const std::string path = files.write("text", "a b c\nd e f g\n");
  const Vocabulary letters = Vocabulary::from_tokens({"a", "b", "c", "d", "e", "f", "g"});
  const Flow flow = text_streams(path, {.vocabulary = letters, .streams = {.streams = 2, .sequence_length = 3}});
  EXPECT_EQ(streams_of(flow, 0), (std::vector{from(1, 3), from(4, 3)}));
  EXPECT_EQ(streams_of(flow, 1), (std::vector{from(2, 3), from(5, 3)}));
  EXPECT_EQ(
      error_of([&] { text_streams(path, {.vocabulary = letters, .streams = {.streams = 4, .sequence_length = 3}}); }),
      "[token_streams] expected 13 tokens or more for 4 streams of 3 steps, got 7 in '" + path +
          "'. Use fewer streams or shorter sequences.");
  EXPECT_EQ(error_of([&] { text_streams(path, {}); }),
            "[text_streams] expected a vocabulary, got none. Make one with Vocabulary::from_files().");
}

TEST(TokenStreams, MistakesSayWhatIsWrong) {
  EXPECT_EQ(error_of([] { token_streams(Array(f32, {3})); }),
            "[token_streams] expected ids i32 [tokens], got f32 [3]. Use cast() and a flat array.");
  EXPECT_EQ(error_of([] { token_streams(ids(9), {.streams = 0}); }),
            "[token_streams] expected 1 stream and 1 step or more, got 0 and 35.");
}

}  // namespace
}  // namespace belfry
