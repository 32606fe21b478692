// Numbers as text that reads back to the same bits: for state in checkpoints, whose JSON has no NaN and no infinity.
#pragma once

#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace belfry {

std::string exact_text(double value);  // the shortest such text; "nan", "inf", "-inf"
// Throws Error on anything other than what exact_text() gives. (std::stod refuses numbers below 1e-308.)
double exact_number(std::string_view text);

// For people: a NaN has a sign, which fmt writes ("-nan") and which means nothing.
double without_sign_of_nan(double value);

}  // namespace belfry
#pragma GCC visibility pop
