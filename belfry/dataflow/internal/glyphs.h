// Letters of a few pixels, for the labels of image_sheet().
#pragma once

namespace belfry {

constexpr int kGlyphWidth = 5, kGlyphHeight = 8;  // the lowest row is for what hangs down, as of "g"

// Whether the letter is drawn there. Anything but printable ASCII is a question mark.
bool glyph_pixel(char letter, int x, int y);

}  // namespace belfry
