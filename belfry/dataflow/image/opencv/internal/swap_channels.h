#pragma once

#include <cstddef>
#include <cstdint>

namespace belfry {

// Red and blue of `count` pixels of three bytes change places. OpenCV's cvtColor() in place would copy the image first.
void swap_red_and_blue(std::uint8_t* pixels, std::size_t count);

}  // namespace belfry
