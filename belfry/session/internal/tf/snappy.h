// Snappy's block format, which the tables in checkpoints of old versions of TensorFlow may be packed with. A varint
// says how long the result is; then come elements, each a tag and what belongs to it:
//
//   literal   bytes to be taken as they are
//   copy      a length and an offset backwards into the result; the two may overlap, so that a pattern is repeated
#pragma once

#include <string>
#include <string_view>

namespace belfry {

// Throws FileError; `where` is for its texts. No memory is made for more than the bytes can unpack to, which is 22
// times their size at most.
std::string unpack_snappy(std::string_view packed, std::string_view where);

}  // namespace belfry
