// How a WebP file is put together: a header, and chunks of a name, a length and as many bytes as it says.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace belfry {

bool is_webp(std::span<const std::byte> bytes);
// Of such a file: whether it ends before the length that its header says. What follows after that does not matter.
bool is_cut_webp(std::span<const std::byte> bytes);
// The contents of the first chunk of that name; none if there is no such chunk.
std::span<const std::byte> webp_chunk(std::span<const std::byte> bytes, std::string_view name);

}  // namespace belfry
