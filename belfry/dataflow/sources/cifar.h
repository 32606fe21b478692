// CIFAR-10 and CIFAR-100: small colour images with a label each, in the binary version of their files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

struct Cifar10Options {
  std::optional<bool> shuffle = std::nullopt;  // by default "train" is shuffled, "test" in the files' order
  std::uint64_t seed = 0;                      // of the shuffling
};

// Points are {image f32 [32, 32, 3] in [0, 1], label i32 [] from 0 to 9}. `split` is "train" or "test"; the directory
// holds the files by their usual names (data_batch_1.bin to data_batch_5.bin, test_batch.bin), plain or with .gz. Files
// are read at once and kept as bytes.
Flow cifar10(const std::string& directory, std::string_view split, Cifar10Options options = {});

enum class Cifar100Labels : std::uint8_t { fine, coarse };

struct Cifar100Options {
  Cifar100Labels labels = Cifar100Labels::fine;  // 100 classes, or the 20 that they belong to
  std::optional<bool> shuffle = std::nullopt;
  std::uint64_t seed = 0;
};

// The same with train.bin and test.bin.
Flow cifar100(const std::string& directory, std::string_view split, Cifar100Options options = {});

}  // namespace belfry
#pragma GCC visibility pop
