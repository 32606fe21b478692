// TensorFlow's element types: their numbers in files, their names, and what Belfry makes of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "belfry/array/array.h"

namespace belfry {

struct TfType {
  std::string name;              // as TensorFlow has it: "float", "bfloat16"
  std::size_t bytes = 0;         // of an element in a file; 0 if they differ
  std::optional<DType> dtype{};  // of the array that it becomes; none if Belfry has no type for its values
};

TfType tf_type(std::uint64_t number);

// The array of these elements, whose number fits the shape. Shares the memory, which `owner` keeps alive, if the type
// stays as it is and the memory is aligned; otherwise a copy. The type must have a dtype. `where` begins the text of a
// FileError.
Array array_of_tf_type(std::uint64_t number, const Shape& shape, std::span<std::byte> elements,
                       const std::shared_ptr<void>& owner, const std::string& where);

}  // namespace belfry
