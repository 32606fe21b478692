#include "belfry/dataflow/sources/text.h"

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/shuffle.h"
#include "tests/dataflow/idx_files.h"
#include "tests/dataflow/restore_checks.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::file_error_of;
using Sequences = std::vector<std::vector<int>>;

std::vector<int> ints(const Array& array) {
  const auto values = array.values<std::int32_t>();
  return {values.begin(), values.end()};
}

// The sequences of component k.
Sequences sequences(Flow flow, std::size_t k = 0) {
  Sequences out;
  flow.reset_state();
  while (const auto point = flow.next()) out.push_back(ints(point->at(k)));
  return out;
}

class Text : public testing::Test {
 protected:
  TemporaryFiles files;
  // Ids 1 to 7 are a to g.
  Vocabulary letters = Vocabulary::from_tokens({"a", "b", "c", "d", "e", "f", "g"});
  Vocabulary with_end = Vocabulary::from_tokens({"a", "b", "c", "$"}, {.end_of_line = "$"});
  std::string seven = files.write("seven", "a b c\nd e f g\n");
};

TEST_F(Text, IsCutIntoSequencesOfOneLength) {
  Flow flow = from_text(seven, {.vocabulary = letters, .sequence_length = 3});
  EXPECT_EQ(flow.known_size(), 2);
  EXPECT_EQ(sequences(flow), (Sequences{{1, 2, 3}, {4, 5, 6}}));
  EXPECT_EQ(sequences(from_text(seven, {.vocabulary = letters, .sequence_length = 3, .stride = 2})),
            (Sequences{{1, 2, 3}, {3, 4, 5}, {5, 6, 7}}));
  EXPECT_EQ(sequences(from_text(seven, {.vocabulary = letters, .sequence_length = 8})), Sequences{});
}

TEST_F(Text, TargetsAreTheNextTokens) {
  Flow flow = from_text(seven, {.vocabulary = letters, .sequence_length = 3, .targets = true});
  EXPECT_EQ(sequences(flow, 0), (Sequences{{1, 2, 3}, {4, 5, 6}}));
  EXPECT_EQ(sequences(flow, 1), (Sequences{{2, 3, 4}, {5, 6, 7}}));
  EXPECT_EQ(from_text(seven, {.vocabulary = letters, .sequence_length = 7, .targets = true}).known_size(), 0);
  flow.reset_state();
  const DataPoint batched = *(flow | batch(2)).next();
  EXPECT_EQ(batched[1].shape(), (Shape{2, 3}));
  EXPECT_EQ(ints(batched[1]), (std::vector{2, 3, 4, 5, 6, 7}));
}

TEST_F(Text, LinesArePointsOfTheirOwnLength) {
  const std::string path = files.write("lines.gz", gzip("a b c\n\nx\r\nb"));
  EXPECT_EQ(sequences(from_text(path, {.vocabulary = letters, .by_line = true})), (Sequences{{1, 2, 3}, {0}, {2}}));
  EXPECT_EQ(sequences(from_text(path, {.vocabulary = letters, .sequence_length = 2, .by_line = true})),
            (Sequences{{1, 2}, {0}, {2}}));
  Flow flow = from_text(path, {.vocabulary = with_end, .targets = true, .by_line = true});
  EXPECT_EQ(sequences(flow, 0), (Sequences{{1, 2, 3}, {0}, {2}}));
  EXPECT_EQ(sequences(flow, 1), (Sequences{{2, 3, 4}, {4}, {4}}));
}

TEST_F(Text, CharactersAndEndsOfLinesAreTokensWhereTheVocabularySaysSo) {
  const std::string path = files.write("text", "\xc3\xa9\na");
  const Vocabulary characters = Vocabulary::from_files({path}, {.unit = TextUnit::characters});
  EXPECT_EQ(sequences(from_text(path, {.vocabulary = characters, .sequence_length = 3})), (Sequences{{3, 1, 2}}));
  EXPECT_EQ(sequences(from_text(path, {.vocabulary = characters, .by_line = true})), (Sequences{{3}, {2}}));
  EXPECT_EQ(sequences(from_text(seven, {.vocabulary = with_end, .sequence_length = 4})),
            (Sequences{{1, 2, 3, 4}, {0, 0, 0, 0}}));
}

TEST_F(Text, PointsOutliveTheFlow) {
  std::optional<DataPoint> point = from_text(seven, {.vocabulary = letters, .sequence_length = 2}).next();
  EXPECT_EQ(ints((*point)[0]), (std::vector{1, 2}));
}

TEST_F(Text, SavedPositionsContinueExactly) {
  expect_exact_restore(
      [&] { return from_text(seven, {.vocabulary = letters, .sequence_length = 2, .stride = 1, .targets = true}); });
  expect_exact_restore([&] { return from_text(seven, {.vocabulary = letters, .by_line = true}) | shuffle(1); });
}

TEST_F(Text, WhatIsNoTextIsRefusedWithTheByte) {
  const std::string path = files.write("latin", "caf\xe9\n");
  EXPECT_EQ(file_error_of([&] { from_text(path, {.vocabulary = letters, .sequence_length = 1}); }),
            "[from_text] expected UTF-8, got other bytes, beginning with 0xe9, at position 3 of '" + path +
                "'. Convert it, with iconv for example.");
  EXPECT_TRUE(
      contains(file_error_of([&] { from_text(files.path("none"), {.vocabulary = letters, .sequence_length = 1}); }),
               "[from_text] cannot open"));
}

TEST_F(Text, OptionsThatMakeNoSenseAreRefused) {
  EXPECT_EQ(error_of([&] { from_text(seven, {.sequence_length = 1}); }),
            "[from_text] expected a vocabulary, got none. Make one with Vocabulary::from_files().");
  EXPECT_EQ(error_of([&] { from_text(seven, {.vocabulary = letters}); }),
            "[from_text] expected a sequence_length of 1 or more, got 0.");
  EXPECT_EQ(error_of([&] { from_text(seven, {.vocabulary = letters, .stride = 2, .by_line = true}); }),
            "[from_text] expected a stride of 0 for lines, got 2.");
}

TEST(FromText, AGzippedFileIsUnpackedUpToALimit) {
  const TemporaryFiles files;
  const std::string text(100'000, 'a'), path = files.write("bomb.gz", gzip(text)), plain = files.write("plain", text);
  const auto read = [](const std::string& from, std::int64_t limit) {
    return from_text(from,
                     {.vocabulary = Vocabulary::from_tokens({"a"}), .by_line = true, .max_unpacked_bytes = limit});
  };
  EXPECT_EQ(read(path, 100'000).known_size(), 1);
  EXPECT_EQ(read(plain, 1000).known_size(), 1);
  EXPECT_EQ(error_of<FileError>([&] { read(path, 99'999); }),
            "[from_text] expected at most 99999 bytes in '" + path +
                "' when it is unpacked, got more. If that is right, set .max_unpacked_bytes.");
  EXPECT_EQ(error_of([&] { read(path, 0); }), "[from_text] expected .max_unpacked_bytes of at least 1, got 0.");
}

}  // namespace
}  // namespace belfry
