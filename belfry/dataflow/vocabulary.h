// A vocabulary: which tokens of a text there are, and their numbers.
//
//   Vocabulary vocabulary = Vocabulary::from_files({"train.txt"}, {.unit = TextUnit::words, .max_size = 10'000});
//   vocabulary.save("train_log/words.txt");
//   std::vector<std::int32_t> ids = vocabulary.encode("the cat sat");
//
// Id 0 is the unknown token: whatever is not in the vocabulary becomes it. The others are ordered by how often they
// occur, ties by their bytes, so that the same texts give the same ids everywhere. Immutable, and cheap to copy.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/dataflow/flow.h"
#include "belfry/dataflow/sources/byte_source.h"

#pragma GCC visibility push(default)
namespace belfry {

enum class TextUnit : std::uint8_t {
  words,       // what stands between blanks and ends of lines
  characters,  // Unicode's, one by one, blanks and ends of lines too
  lines,
};

struct VocabularyOptions {
  TextUnit unit = TextUnit::words;
  std::int64_t min_count = 1;     // what occurs less often is unknown
  std::int64_t max_size = 0;      // keep the most frequent, at most this many including the unknown token; 0: all
  std::string unknown = "<unk>";  // how the unknown token is written
  std::string end_of_line =
      {};  // the token that ends a line of words, or stands for '\n' among characters; none if empty
  std::int64_t max_unpacked_bytes = kMaxUnpackedBytes;  // from_files() refuses a gzipped file that unpacks to more
};

class Vocabulary {
 public:
  Vocabulary() = default;  // empty: usable only after assignment

  // From UTF-8 files, plain or gzipped. Throws FileError, with the byte's position, on anything that is not UTF-8.
  static Vocabulary from_files(const std::vector<std::string>& paths, VocabularyOptions options = {});
  // From the first component of a flow's points, u8 [bytes] of text each; takes what is left of the pass.
  static Vocabulary from_flow(Flow texts, VocabularyOptions options = {});
  // Tokens with the ids 1, 2, ...; no two are the same.
  static Vocabulary from_tokens(const std::vector<std::string>& tokens, VocabularyOptions options = {});

  // One token per line, after a line that says how texts are split. Atomic: after an error the old file is still there.
  // A gzipped one that unpacks to more than the limit is a FileError.
  void save(const std::string& path) const;
  static Vocabulary load(const std::string& path, std::int64_t max_unpacked_bytes = kMaxUnpackedBytes);

  explicit operator bool() const { return tokens_ != nullptr; }
  std::int64_t size() const;  // including the unknown token
  TextUnit unit() const;
  const std::string& end_of_line() const;  // empty: none
  bool contains(std::string_view token) const;
  std::int32_t id(std::string_view token) const;    // 0 if it is not there
  const std::string& token(std::int64_t id) const;  // throws unless 0 <= id < size()

  // A text's tokens by their ids, and back (words with blanks between them). The text must be UTF-8.
  std::vector<std::int32_t> encode(std::string_view text) const;
  std::string decode(std::span<const std::int32_t> ids) const;

  bool operator==(const Vocabulary& other) const;

 private:
  struct Tokens;
  explicit Vocabulary(std::shared_ptr<const Tokens> tokens) : tokens_(std::move(tokens)) {}
  const Tokens& tokens() const;  // throws if empty

  std::shared_ptr<const Tokens> tokens_;
};

}  // namespace belfry
#pragma GCC visibility pop
