// The file of a vocabulary: a line that says how texts are split, the token for the end of a line, then the
// tokens in the order of their ids.
//
//   belfry vocabulary 1 words
//   <eos>
//   <unk>
//   the
//
// In a token \n, \r and \\ stand for the end of a line, a carriage return and a backslash.
#include <algorithm>
#include <array>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/internal/quotes.h"
#include "belfry/dataflow/internal/tokens.h"
#include "belfry/dataflow/internal/utf8.h"
#include "belfry/dataflow/internal/vocabulary_tokens.h"
#include "belfry/dataflow/sources/byte_source.h"

namespace belfry {
namespace {

constexpr std::string_view kFront = "belfry vocabulary 1 ";
constexpr std::array<std::string_view, 3> kUnits{"words", "characters", "lines"};  // in the order of TextUnit

std::string escaped(std::string_view token) {
  std::string out;
  for (const char c : token) {
    switch (c) {
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\\': out += "\\\\"; break;
      default: out += c;
    }
  }
  return out;
}

class Reader {
 public:
  Reader(std::string text, const std::string& path) : text_(std::move(text)), rest_(text_), path_(path) {}

  bool at_end() const { return rest_.empty(); }

  std::string_view line() {
    ++number_;
    const std::size_t end = rest_.find('\n');
    check(end != std::string_view::npos, "a line with its end", "the end of the file");
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line;
  }

  std::string token() {
    const std::string_view text = line();
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\') {
        out += text[i];
        continue;
      }
      const char escape = ++i < text.size() ? text[i] : ' ';
      check(escape == 'n' || escape == 'r' || escape == '\\', "\\n, \\r or \\\\ after a backslash", in_quotes(text));
      out += escape == 'n' ? '\n' : escape == 'r' ? '\r' : '\\';
    }
    return out;
  }

  void check(bool condition, std::string_view expected, std::string_view got) const {
    BELFRY_CHECK_AS(FileError, condition, "[Vocabulary] expected {}, got {} in line {} of '{}'. Save it again.",
                    expected, got, number_, path_);
  }

 private:
  std::string text_;
  std::string_view rest_;
  const std::string& path_;
  std::int64_t number_ = 0;
};

}  // namespace

void Vocabulary::save(const std::string& path) const {
  const Tokens& all = tokens();
  std::string text(kFront);
  text += kUnits[static_cast<std::size_t>(all.unit)];
  text += '\n' + escaped(all.end_of_line) + '\n';
  for (const std::string& token : all.by_id) text += escaped(token) + '\n';
  write_file_atomically(path, text);
}

Vocabulary Vocabulary::load(const std::string& path, std::int64_t max_unpacked_bytes) {
  std::string text;
  append_contents(text, path, "Vocabulary", {.bytes = max_unpacked_bytes, .remedy = "Is it a vocabulary?"});
  check_utf8(text, "Vocabulary", path);
  Reader reader(std::move(text), path);
  const std::string_view first = reader.line();
  reader.check(first.starts_with(kFront), "the first line of a vocabulary", in_quotes(first));
  const auto unit = std::ranges::find(kUnits, first.substr(kFront.size()));
  reader.check(unit != kUnits.end(), "words, characters or lines", in_quotes(first));
  std::string end_of_line = reader.token();
  std::vector<std::string> by_id{reader.token()};
  while (!reader.at_end()) by_id.push_back(reader.token());
  try {
    return Vocabulary(
        Tokens::make(static_cast<TextUnit>(unit - kUnits.begin()), std::move(end_of_line), std::move(by_id)));
  } catch (const Error& e) {
    fail<FileError>("{} Read from '{}'.", e.what(), path);
  }
}

}  // namespace belfry
