#include "belfry/dataflow/vocabulary.h"

#include "belfry/base/file.h"
#include "belfry/dataflow/repeat.h"
#include "tests/dataflow/flow_testing.h"
#include "tests/dataflow/idx_files.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::file_error_of;
using testing_support::FullDisk;
using Ids = std::vector<std::int32_t>;

std::vector<std::string> tokens_of(const Vocabulary& vocabulary) {
  std::vector<std::string> tokens;
  for (std::int64_t i = 0; i < vocabulary.size(); ++i) tokens.push_back(vocabulary.token(i));
  return tokens;
}

using Strings = std::vector<std::string>;

class VocabularyTest : public testing::Test {
 protected:
  Vocabulary of(const std::string& text, VocabularyOptions options = {}) const {
    return Vocabulary::from_files({files.write("text", text)}, options);
  }
  TemporaryFiles files;
};

TEST_F(VocabularyTest, WordsGoByHowOftenTheyOccurThenByTheirBytes) {
  const std::string one = files.write("one", "b a  c\tb\n"), two = files.write("two.gz", gzip("a b\r\nd"));
  const Vocabulary words = Vocabulary::from_files({one, two});
  EXPECT_EQ(tokens_of(words), (Strings{"<unk>", "b", "a", "c", "d"}));
  EXPECT_EQ(words.id("a"), 2);
  EXPECT_EQ(words.id("x"), 0);
  EXPECT_TRUE(words.contains("d"));
  EXPECT_FALSE(words.contains("x"));
}

TEST_F(VocabularyTest, RareTokensAndThoseBeyondTheSizeAreUnknown) {
  const std::string text = "a a a b b c c d";
  EXPECT_EQ(tokens_of(of(text, {.min_count = 2})), (Strings{"<unk>", "a", "b", "c"}));
  EXPECT_EQ(tokens_of(of(text, {.max_size = 3})), (Strings{"<unk>", "a", "b"}));
  EXPECT_EQ(tokens_of(of(text, {.max_size = 1, .unknown = "?"})), Strings{"?"});
}

TEST_F(VocabularyTest, TextBecomesIdsAndBack) {
  const Vocabulary words = of("the cat\nthe dog\n", {.end_of_line = "<eos>"});
  EXPECT_EQ(tokens_of(words), (Strings{"<unk>", "<eos>", "the", "cat", "dog"}));
  EXPECT_EQ(words.encode("the bird\ndog"), (Ids{2, 0, 1, 4, 1}));
  EXPECT_EQ(words.decode(Ids{2, 0, 1, 4}), "the <unk> <eos> dog");
  EXPECT_EQ(error_of([&] { words.decode(Ids{5}); }), "[Vocabulary] expected an id from 0 to 4, got 5.");
}

TEST_F(VocabularyTest, CharactersAreUnicodesAndLinesAreWhole) {
  const std::string text = "n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\nn";
  const Vocabulary characters = of(text, {.unit = TextUnit::characters});
  EXPECT_EQ(characters.size(), 6);
  EXPECT_EQ(characters.token(1), "n");
  EXPECT_EQ(characters.decode(characters.encode(text)), text);
  EXPECT_TRUE(of(text, {.unit = TextUnit::characters, .end_of_line = "<n>"}).contains("<n>"));
  EXPECT_EQ(tokens_of(of("cat dog\r\nbird\ncat dog", {.unit = TextUnit::lines})),
            (Strings{"<unk>", "cat dog", "bird"}));
}

TEST_F(VocabularyTest, CountsTheTextsOfAFlow) {
  const auto text = [](std::string_view s) {
    return DataPoint{
        Array::of<std::uint8_t>({static_cast<std::int64_t>(s.size())}, std::vector<std::uint8_t>(s.begin(), s.end()))};
  };
  EXPECT_EQ(tokens_of(Vocabulary::from_flow(from_list({text("a b"), text("b")}))), (Strings{"<unk>", "b", "a"}));
  EXPECT_EQ(error_of([&] { Vocabulary::from_flow(from_list({text("a b")}) | repeat()); }),
            "[Vocabulary] expected a flow that ends, got 'list | repeat', which does not. Call repeat() after this "
            "instead, or limit the flow with fixed_size().");
  EXPECT_EQ(error_of([] { Vocabulary::from_flow(numbered(1)); }),
            "[Vocabulary] expected points that begin with a text, u8 [bytes], got i32 from 'list'.");
}

TEST_F(VocabularyTest, IsSavedAndLoadedWhole) {
  const VocabularyOptions odd{.unit = TextUnit::characters, .unknown = "\\", .end_of_line = "\r"};
  for (const Vocabulary& saved :
       {Vocabulary::from_tokens({"\n", "\r", "a\\n", "", " ", "\xc3\xa9"}, odd), of("a b c\n", {.end_of_line = "$"}),
        of("one line\nanother", {.unit = TextUnit::lines}), of("")}) {
    saved.save(files.path("saved"));
    EXPECT_EQ(Vocabulary::load(files.path("saved")), saved);
  }
  EXPECT_EQ(read_file(files.path("saved")), "belfry vocabulary 1 words\n\n<unk>\n");
}

TEST_F(VocabularyTest, AFullDiskLeavesTheOldFile) {
  const std::string path = files.path("saved");
  of("a").save(path);
  const Vocabulary large = of("aa bb cc dd ee ff");
  file_error_of([&] {
    FullDisk disk(10);
    large.save(path);
  });
  EXPECT_EQ(Vocabulary::load(path), of("a"));
}

TEST_F(VocabularyTest, DamagedFilesAreRefusedWithTheLine) {
  const auto refusal = [&](const std::string& text) {
    std::string error = file_error_of([&] { Vocabulary::load(files.write("bad", text)); });
    const std::string name = " of '" + files.path("bad") + "'. Save it again.";
    return contains(error, name) ? error.erase(error.find(name)) : error;
  };
  const std::string front = "belfry vocabulary 1 words\n\n";
  EXPECT_EQ(refusal(""), "[Vocabulary] expected a line with its end, got the end of the file in line 1");
  EXPECT_EQ(refusal("the\n"), "[Vocabulary] expected the first line of a vocabulary, got 'the' in line 1");
  EXPECT_EQ(refusal("belfry vocabulary 1 verses\n"),
            "[Vocabulary] expected words, characters or lines, got 'belfry vocabulary 1 verses' in line 1");
  EXPECT_EQ(refusal(front + "<unk>\nthe"),
            "[Vocabulary] expected a line with its end, got the end of the file in line 4");
  EXPECT_EQ(refusal(front + "<unk>\n\\x\n"),
            "[Vocabulary] expected \\n, \\r or \\\\ after a backslash, got '\\x' in line 4");
  EXPECT_EQ(refusal(front + "<unk>\na\na\n"),
            "[Vocabulary] expected every token once, got 'a' twice. Read from '" + files.path("bad") + "'.");
  EXPECT_TRUE(
      contains(refusal(front + "\xff\n"), "expected UTF-8, got other bytes, beginning with 0xff, at position 27"));
}

TEST_F(VocabularyTest, OnlyUtf8IsText) {
  const auto position = [&](const std::string& bytes) {
    const std::string error = file_error_of([&] { of("ab" + bytes + "c"); });
    const std::size_t at = error.find("at position ");
    return error.substr(at, error.find(" of ", at) - at);
  };
  for (const char* bad : {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe2\x82", "\xc3"})
    EXPECT_EQ(position(bad), "at position 2") << bad;
  EXPECT_EQ(position("\xc3\xa9\xfe"), "at position 4");
  for (const char* good :
       {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(of(good, {.unit = TextUnit::characters}).size(), 2) << good;
  EXPECT_THROW(of("a").encode("\xff"), FileError);
}

TEST_F(VocabularyTest, OptionsThatMakeNoSenseAreRefused) {
  EXPECT_EQ(error_of([&] { of("a", {.min_count = 0}); }),
            "[Vocabulary] expected a min_count of 1 or more and a max_size of 0 or more, got 0 and 0.");
  EXPECT_EQ(error_of([&] { of("a", {.unit = TextUnit::lines, .end_of_line = "$"}); }),
            "[Vocabulary] expected no end_of_line where tokens are lines, got '$'.");
  EXPECT_EQ(error_of([&] { Vocabulary::from_tokens({"a", "a"}); }),
            "[Vocabulary] expected every token once, got 'a' twice.");
  EXPECT_EQ(error_of([&] { Vocabulary().size(); }),
            "[Vocabulary] expected one with tokens, got an empty one. Build or load it first.");
}

TEST(Vocabulary, GzippedFilesAreUnpackedUpToALimit) {
  const TemporaryFiles files;
  const std::string path = files.write("bomb.gz", gzip(std::string(100'000, 'a')));
  EXPECT_EQ(Vocabulary::from_files({path}, {.max_unpacked_bytes = 100'000}).size(), 2);
  EXPECT_EQ(error_of<FileError>([&] { Vocabulary::from_files({path}, {.max_unpacked_bytes = 10}); }),
            "[Vocabulary] expected at most 10 bytes in '" + path +
                "' when it is unpacked, got more. If that is right, set .max_unpacked_bytes.");
  EXPECT_EQ(
      error_of<FileError>([&] { Vocabulary::load(path, 10); }),
      "[Vocabulary] expected at most 10 bytes in '" + path + "' when it is unpacked, got more. Is it a vocabulary?");
}

}  // namespace
}  // namespace belfry
