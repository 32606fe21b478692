// The MNIST family: grey images with a label each, in idx files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

struct MnistOptions {
  std::optional<bool> shuffle = std::nullopt;  // by default "train" is shuffled, "test" in the files' order
  std::uint64_t seed = 0;                      // of the shuffling
};

// Points are {image f32 [28, 28, 1] in [0, 1], label i32 []}. `split` is "train" or "test"; the directory holds the
// four files by their usual names (train-images-idx3-ubyte, t10k-labels-idx1-ubyte, ...), plain or with .gz. Files are
// read at once and kept as bytes.
Flow mnist(const std::string& directory, std::string_view split, MnistOptions options = {});

// Fashion-MNIST from $BELFRY_DATA_DIR/fashion-mnist, or where Debian's package dataset-fashion-mnist puts it.
Flow fashion_mnist(std::string_view split, MnistOptions options = {});

}  // namespace belfry
#pragma GCC visibility pop
