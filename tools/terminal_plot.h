// Curves as characters.
#pragma once

#include <string>

#include "belfry/callbacks/monitors/curves.h"

namespace belfry::tools {

struct TerminalStyle {
  int width = 80;       // of the whole, in characters
  int height = 12;      // of the part with the curves
  bool ascii = false;   // else braille dots, eight in a character
  bool colour = false;  // escape codes; without, several series are drawn with letters instead of dots
};

// `options`: x_label, logarithmic, smoothing (only the smoothed curve is drawn).
std::string terminal_plot(const CurvePanel& panel, const CurveOptions& options, const TerminalStyle& style);

// What suits the terminal of stdout and the environment: its width, COLUMNS or 80; braille if the locale is UTF-8;
// colour if stdout is a terminal, unless NO_COLOR is set.
TerminalStyle style_of_terminal();

}  // namespace belfry::tools
