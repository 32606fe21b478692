// One long sequence of tokens as parallel streams, for language models that carry their state from step to step.
//
//   ids 0 1 2 3 4 5 6 7 8, 2 streams of 2 steps:   x {{0, 4}, {1, 5}}, y {{1, 5}, {2, 6}};   x {{2, 6}, {3, 7}}, ...
#pragma once

#include <cstdint>
#include <string>

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/flow.h"
#include "belfry/dataflow/sources/byte_source.h"
#include "belfry/dataflow/vocabulary.h"

#pragma GCC visibility push(default)
namespace belfry {

struct TokenStreamOptions {
  std::int64_t streams = 20;              // side by side, each its own equal part of the text
  std::int64_t sequence_length = 35;      // steps in a point
  bool time_major = true;                 // [steps, streams]; else [streams, steps]
  Remainder remainder = Remainder::drop;  // of each stream's steps: dropped, or a shorter last point
  // One more component, bool []: true for the first point of a pass, where the streams start over and a
  // model has to reset the state that it carries.
  bool begins = false;
};

// Points {x, y}, i32: the next steps of every stream, and the tokens that follow them. Point i + 1 goes on where point
// i ends, so points are not to be shuffled. Tokens at the end that do not fit any stream are omitted. The position is
// that of the point, so that a run which is continued goes on exactly; random access.
Flow token_streams(const Array& ids, TokenStreamOptions options = {});  // ids i32 [tokens]

struct TextStreamOptions {
  Vocabulary vocabulary = {};  // says what a token is, and its id
  TokenStreamOptions streams = {};
  std::int64_t max_unpacked_bytes = kMaxUnpackedBytes;  // a gzipped file that unpacks to more is refused
};
// The same from a UTF-8 file, plain or gzipped, read at once.
Flow text_streams(const std::string& path, TextStreamOptions options);

}  // namespace belfry
#pragma GCC visibility pop
