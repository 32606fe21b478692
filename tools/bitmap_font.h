// Small letters for pictures.
#pragma once

#include <string_view>

namespace belfry::tools {

constexpr int kGlyphRows = 9;      // of which the last two are below the base line
constexpr int kGlyphBaseline = 6;  // the row on which letters stand

// The rows of an ASCII character's picture, one after the other, separated by spaces: '#' is ink, '.' is not. All rows
// are equally long; characters have different widths. Rows that are missing at the end are empty. A character without
// a picture has that of '?'.
std::string_view glyph_of(char c);
int glyph_width(char c);

}  // namespace belfry::tools
