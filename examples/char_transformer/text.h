// A text as the ids of its characters, and windows of it as datapoints.
#pragma once

#include <belfry/belfry.h>

#include <memory>
#include <string>
#include <vector>

using Ids = std::vector<std::int32_t>;

struct Text {
  belfry::Vocabulary vocabulary;
  Ids training{}, held_out{};  // the beginning of the text, and its end
};

// Reads a UTF-8 file, or the files of a folder one after the other: by name, without links and folders. The share
// `held_out` at the end of the text is not for training.
Text read_text(const std::string& path, double held_out);

// Points {x, y}, i32 [length]: a window, and the one that begins one character later. Windows begin `stride` characters
// apart. Random access.
belfry::Flow windows(Ids ids, std::int64_t length, std::int64_t stride);
