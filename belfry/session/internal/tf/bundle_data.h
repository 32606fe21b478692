// The tensors of a checkpoint of TensorFlow, from its data files.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "belfry/array/array.h"
#include "belfry/base/file.h"
#include "belfry/session/internal/tf/tensor_bundle.h"

namespace belfry {

class BundleData {
 public:
  // Throws if two tensors have bytes in common. The index is borrowed; files are opened when they are needed.
  BundleData(std::string prefix, const BundleIndex& index);

  // The tensor as an array, from one place or from its slices. Its type must have a dtype, and it must have no more
  // than kMaxRank axes. Sizes, places and checksums are checked first; throws FileError. The array may share a mapping
  // of the file.
  Array read(const std::string& name, const BundleEntry& entry);

 private:
  struct Piece {
    std::span<std::byte> bytes;
    std::shared_ptr<MappedFile> file;
  };
  Piece piece(const std::string& where, const BundleEntry& entry);
  Array array_of(const std::string& where, const BundleEntry& entry, const Piece& piece);
  Array joined(const std::string& name, const std::string& where, const BundleEntry& whole);
  const std::shared_ptr<MappedFile>& open(std::uint64_t file);

  std::string prefix_;
  const BundleIndex& index_;
  std::map<std::uint64_t, std::shared_ptr<MappedFile>> files_;
};

}  // namespace belfry
