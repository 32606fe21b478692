// belfry plot: how the numbers of runs went.
#pragma once

#include <string>
#include <vector>

namespace belfry::tools {

struct PlotOptions {
  std::vector<std::string> runs{};
  std::string metrics{};  // a regular expression for whole names; "" is all
  std::string output{};   // .svg or .png; "": on the terminal
  std::string x = "epoch";
  bool logarithmic = false, ascii = false, json = false;
  double smoothing = 0;
  int width = 0;  // of the terminal; 0: as wide as it is
};

// Draws to stdout, or writes the file and says so.
void plot(const PlotOptions& options);

}  // namespace belfry::tools
