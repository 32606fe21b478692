// Texts as sequences of token ids, as language models want them.
#pragma once

#include <cstdint>
#include <string>

#include "belfry/dataflow/flow.h"
#include "belfry/dataflow/sources/byte_source.h"
#include "belfry/dataflow/vocabulary.h"

#pragma GCC visibility push(default)
namespace belfry {

struct TextOptions {
  Vocabulary vocabulary = {};        // says what a token is, and its id
  std::int64_t sequence_length = 0;  // tokens in a point; with by_line the most there may be, 0: no limit
  std::int64_t stride = 0;           // from one point's beginning to the next one's; 0: sequence_length
  bool targets = false;              // points are {x, y}: y is x one token later
  bool by_line = false;              // a point for each line, as long as the line is
  // A gzipped file that unpacks to more is refused.
  std::int64_t max_unpacked_bytes = kMaxUnpackedBytes;
};

// A UTF-8 file, plain or gzipped, read at once and kept as ids. Points are {i32 [sequence_length]}, cut from the text
// as one long sequence; what is left at its end and too short is dropped. With by_line, points are lines {i32 [tokens]}
// with the vocabulary's end_of_line, if it has one; lines without a token (with targets: with fewer than two) are
// omitted. Random access. Throws FileError, with the byte's position, on anything that is not UTF-8.
Flow from_text(const std::string& path, TextOptions options);

}  // namespace belfry
#pragma GCC visibility pop
