#include "belfry/base/internal/exact_number.h"

#include <charconv>
#include <cmath>

#include "belfry/base/check.h"

namespace belfry {

std::string exact_text(double value) { return fmt::format("{}", value); }

double exact_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  BELFRY_CHECK(error == std::errc() && end == text.data() + text.size(), "[number] expected a number, got \"{}\".",
               text);
  return value;
}

double without_sign_of_nan(double value) { return std::isnan(value) ? std::fabs(value) : value; }

}  // namespace belfry
