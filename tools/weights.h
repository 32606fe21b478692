// Files of named tensors, whatever their format: what `belfry ls`, `diff`, `convert`, ... read and write.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "belfry/array/array.h"
#include "belfry/session/checkpoint.h"

namespace belfry::tools {

struct Weights {
  enum class Kind : std::uint8_t { checkpoint, safetensors, npz, tensorflow };

  std::string path{};  // of the file that was read
  Kind kind = Kind::safetensors;
  std::map<std::string, Array> tensors{};
  std::optional<CheckpointState> state{};         // of a checkpoint
  std::map<std::string, std::string> metadata{};  // what other programs noted in a safetensors file
};

std::string name_of(Weights::Kind kind);

// `path` is a checkpoint, an exported model, another safetensors or npz file, or a checkpoint of TensorFlow's (see
// tf_checkpoint.h). A directory, or a saver's index, means its latest checkpoint. Throws FileError.
Weights read_weights(const std::string& path);

// Without what belongs only to the run. Throws if it is not a checkpoint, or one that does not say what belongs to the
// model.
Weights model_of(const Weights& weights);

// Throws unless write_weights() can write to `path`: it ends in .safetensors or .npz, its directory exists, and there
// is no file, or `force`.
void check_output(const std::string& path, bool force);

// The format is that of the path's extension; a checkpoint stays one in .safetensors, and loses its state in .npz.
// Atomic.
void write_weights(const std::string& path, const Weights& weights, bool compress = false);

// Texts for the terminal: "step 1200, epoch 3", or nothing.
std::string state_text(const Weights& weights);

}  // namespace belfry::tools
